/// Bytes that nobody is to guess.
enum SecretBytes {
    /// Compares in a time that depends on the lengths only.
    static func areSame(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard one.count == other.count else { return false }
        var difference: UInt8 = 0
        for index in 0..<one.count { difference |= one[index] ^ other[index] }
        return difference == 0
    }
}
