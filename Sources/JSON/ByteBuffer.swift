/// Bytes that grow at the end, for the writer: half the cost of an array for many short appends.
struct ByteBuffer: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = max(capacity, 16)
        start = .allocate(capacity: self.capacity)
    }

    deinit {
        start.deallocate()
    }

    /// A copy of the bytes.
    var bytes: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }

    /// Lends the bytes.
    func lend(_ body: (UnsafeRawBufferPointer) -> Void) {
        body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Forgets the bytes, and keeps the room for others.
    mutating func clear() { count = 0 }

    /// The bytes as text; they must be UTF-8.
    var text: String {
        String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        start[count] = byte
        count &+= 1
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        UnsafeMutableRawPointer(start + count).copyMemory(from: source, byteCount: bytes.count)
        count &+= bytes.count
    }

    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends a name in quotes, and a colon.
    @inline(__always)
    mutating func append(name: StaticString) {
        let length = name.utf8CodeUnitCount
        reserve(length &+ 3)
        let place = start + count
        place[0] = UInt8(ascii: "\"")
        UnsafeMutableRawPointer(place + 1).copyMemory(from: name.utf8Start, byteCount: length)
        place[length &+ 1] = UInt8(ascii: "\"")
        place[length &+ 2] = UInt8(ascii: ":")
        count &+= length &+ 3
    }

    /// Appends what `write` puts into a buffer, `capacity` bytes at most; it returns their number.
    mutating func append(
        capacity: Int, _ write: (UnsafeMutableBufferPointer<UInt8>) -> Int
    ) {
        reserve(capacity)
        count += write(UnsafeMutableBufferPointer(start: start + count, count: capacity))
    }

    /// Lends so many of the newest bytes, to be changed.
    @inline(__always)
    mutating func withLast(_ byteCount: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Void) {
        body(UnsafeMutableBufferPointer(start: start + count - byteCount, count: byteCount))
    }

    /// Appends a number in decimal digits.
    mutating func append(decimal number: UInt64) {
        var digits = 1
        var power: UInt64 = 10
        while digits < 20, number >= power {
            digits += 1
            power = power &* 10
        }
        reserve(digits)
        count += digits
        var rest = number
        for index in stride(from: count - 1, through: count - digits, by: -1) {
            start[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    /// Makes sure that `more` bytes can be appended.
    @inline(__always)
    mutating func reserve(_ more: Int) {
        if capacity &- count < more { grow(by: more) }
    }

    @inline(never)
    private mutating func grow(by more: Int) {
        capacity = max(capacity * 2, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.moveInitialize(from: start, count: count)
        start.deallocate()
        start = larger
    }
}
