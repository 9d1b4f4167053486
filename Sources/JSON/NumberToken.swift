internal import Syntax

/// A number of the text, checked against the grammar of RFC 8259 §6.
struct NumberToken {
    /// Where it stands in the text.
    var range: Range<Int>
    var isNegative = false
    /// The digits without sign, point and exponent; right as long as `digitCount` is at most 19.
    var digits: UInt64 = 0
    /// How many of them there are, not counting zeros in front.
    var digitCount = 0
    /// The power of ten that the digits are multiplied by, at most a billion either way.
    var exponent = 0

    /// Reads the longest number that begins at `start`; nil when none does.
    @inline(__always)
    init?(in text: UnsafeBufferPointer<UInt8>, from start: Int) {
        var index = start
        range = start..<start
        if index < text.count, text[index] == UInt8(ascii: "-") {
            isNegative = true
            index += 1
        }
        let first = index
        takeDigits(in: text, &index)
        guard index > first, index == first + 1 || text[first] != UInt8(ascii: "0") else {
            return nil
        }
        if index < text.count, text[index] == UInt8(ascii: ".") {
            index += 1
            let point = index
            takeDigits(in: text, &index)
            guard index > point else { return nil }
            exponent = point - index
        }
        if index < text.count, text[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            guard let power = NumberToken.power(in: text, &index) else { return nil }
            exponent += power
        }
        range = start..<index
    }

    @inline(__always)
    private mutating func takeDigits(in text: UnsafeBufferPointer<UInt8>, _ index: inout Int) {
        while index < text.count {
            let digit = text[index] &- 0x30
            guard digit <= 9 else { return }
            digits = digits &* 10 &+ UInt64(digit)
            if digits > 0 || digitCount > 0 { digitCount += 1 }
            index += 1
        }
    }

    /// The exponent behind the `e`, cut to a billion; nil when there is no digit.
    private static func power(in text: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> Int? {
        var isNegative = false
        if index < text.count, text[index] == UInt8(ascii: "-") || text[index] == UInt8(ascii: "+")
        {
            isNegative = text[index] == UInt8(ascii: "-")
            index += 1
        }
        let first = index
        var power = 0
        while index < text.count, case let digit = text[index] &- 0x30, digit <= 9 {
            power = min(power * 10 + Int(digit), 1_000_000_000)
            index += 1
        }
        return index > first ? (isNegative ? -power : power) : nil
    }
}

// MARK: - Values

extension NumberToken {
    /// The value, if it is whole and in range: `1.0` and `1e3` are, `1.5` is not.
    func int64(in text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard digitCount <= 19 else {
            return withoutTrailingZeros(in: text)?.int64(in: text)
        }
        var magnitude = digits
        var exponent = magnitude == 0 ? 0 : exponent
        while exponent < 0 {
            guard magnitude % 10 == 0 else { return nil }
            magnitude /= 10
            exponent += 1
        }
        while exponent > 0 {
            let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
            guard !overflow else { return nil }
            magnitude = product
            exponent -= 1
        }
        return isNegative
            ? Int64(exactly: magnitude).map { -$0 }
                ?? (magnitude == Int64.min.magnitude ? .min : nil)
            : Int64(exactly: magnitude)
    }

    /// The nearest `Double`; nil when the value is beyond the finite ones.
    func double(in text: UnsafeBufferPointer<UInt8>) -> Double? {
        // Both factors are exact, so the one operation rounds correctly.
        if digitCount <= 19, digits <= 1 << 53, exponent.magnitude <= 22 {
            let power = NumberToken.powersOfTen[Int(exponent.magnitude)]
            let magnitude = exponent < 0 ? Double(digits) / power : Double(digits) * power
            return isNegative ? -magnitude : magnitude
        }
        let number = Double(String(decoding: text[range], as: UTF8.self))
        guard let number, number.isFinite else { return nil }
        return number
    }

    /// The same number, with the zeros at the end of its digits moved into the exponent; nil when
    /// there are too many digits for a whole number even so.
    private func withoutTrailingZeros(in text: UnsafeBufferPointer<UInt8>) -> NumberToken? {
        let mantissa = text[range].prefix { $0 | 0x20 != UInt8(ascii: "e") }
        let all = mantissa.filter(Octets.isDigit)
        let zeros = all.reversed().prefix { $0 == 0x30 }.count
        let kept = all.dropLast(zeros).drop { $0 == 0x30 }
        guard kept.count <= 19 else { return nil }
        var token = self
        token.digits = kept.reduce(0) { $0 * 10 + UInt64($1 - 0x30) }
        token.digitCount = kept.count
        token.exponent += zeros
        return token
    }

    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ]
}
