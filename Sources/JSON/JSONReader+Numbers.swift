extension JSONReader {
    /// Reads a whole number in `range`. `1.0` and `1e3` are whole numbers, `1.5` is not.
    ///
    /// - Throws: `wrongValue` when the value is none; `malformed`.
    public mutating func int64(
        in range: ClosedRange<Int64> = .min ... .max
    ) throws(JSONError) -> Int64 {
        let token = try numberToken()
        let number = bytes.withUnsafeBufferPointer { token.int64(in: $0) }
        guard let number, range.contains(number) else {
            throw fail("must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Reads a whole number that fits an `Int`, as `int64(in:)` does.
    ///
    /// - Throws: `wrongValue` when the value is none; `malformed`.
    public mutating func int(in range: ClosedRange<Int> = .min ... .max) throws(JSONError) -> Int {
        Int(try int64(in: Int64(range.lowerBound)...Int64(range.upperBound)))
    }

    /// Reads a number in `range` as the nearest `Double`.
    ///
    /// - Throws: `wrongValue` when the value is none, or beyond what a `Double` can be;
    ///   `malformed`.
    public mutating func double(
        in range: ClosedRange<Double> = -.greatestFiniteMagnitude ... .greatestFiniteMagnitude
    ) throws(JSONError) -> Double {
        let token = try numberToken()
        let number = bytes.withUnsafeBufferPointer { token.double(in: $0) }
        guard let number, range.contains(number) else {
            throw fail("must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Reads a number as it is spelled.
    mutating func numberText() throws(JSONError) -> String {
        String(checked: bytes, try numberToken().range, isASCII: true)
    }

    /// Checks the number that is due, and goes behind it.
    mutating func numberToken() throws(JSONError) -> NumberToken {
        try begin(.number)
        let token = bytes.withUnsafeBufferPointer { NumberToken(in: $0, from: index) }
        guard let token else { throw malformed("must be written as JSON numbers are") }
        index = token.range.upperBound
        expectsValue = false
        return token
    }
}
