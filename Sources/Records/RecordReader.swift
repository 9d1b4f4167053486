package import Engine

/// Reads what `RecordWriter` writes, field by field. Nothing in the bytes can trap: all damage is
/// thrown.
///
/// ```swift
/// while let field = try reader.next() {
///     switch field {
///     case 1: url = try reader.string()
///     default: try reader.skip()
///     }
/// }
/// ```
package struct RecordReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int
    private var type = WireType.varint

    package init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        self.position = bytes.startIndex
    }

    package var isAtEnd: Bool { position == bytes.endIndex }

    /// What has not been read yet.
    package var rest: [UInt8] { Array(bytes[position...]) }

    /// The number of the next field, whose value must be read or skipped; nil at the end.
    package mutating func next() throws(StoreError) -> UInt8? {
        guard !isAtEnd else { return nil }
        let tag = try varint()
        guard let type = WireType(rawValue: UInt8(truncatingIfNeeded: tag & 7)),
            let field = UInt8(exactly: tag >> 3)
        else { throw .damagedRecord }
        self.type = type
        return field
    }

    package mutating func int64() throws(StoreError) -> Int64 {
        try expect(.varint)
        return try zigzag()
    }

    package mutating func int() throws(StoreError) -> Int {
        Int(try int64())
    }

    package mutating func bool() throws(StoreError) -> Bool {
        try int64() != 0
    }

    /// A number of seconds, a share or a factor. Beyond these bounds it is damaged, and would end
    /// the process as a `Duration` or in JSON.
    package mutating func double() throws(StoreError) -> Double {
        try expect(.fixed64)
        var bits: UInt64 = 0
        for byte in try take(8).reversed() { bits = bits << 8 | UInt64(byte) }
        let value = Double(bitPattern: bits)
        guard abs(value) <= 1e15 else { throw .damagedRecord }
        return value
    }

    package mutating func string() throws(StoreError) -> String {
        try expect(.bytes)
        return try text()
    }

    package mutating func byteArray() throws(StoreError) -> [UInt8] {
        try expect(.bytes)
        return Array(try take(try length()))
    }

    /// Two numbers that are one packed field.
    package mutating func numbers() throws(StoreError) -> (Int64, Int64) {
        var packed = try record()
        return (try packed.zigzag(), try packed.zigzag())
    }

    /// The record inside the record.
    package mutating func record() throws(StoreError) -> RecordReader {
        try expect(.bytes)
        return RecordReader(try take(try length()))
    }

    /// A value of an enumeration by its raw text.
    package mutating func raw<Value: RawRepresentable<String>>(
        _: Value.Type = Value.self
    ) throws(StoreError) -> Value {
        guard let value = Value(rawValue: try string()) else { throw .damagedRecord }
        return value
    }

    /// Passes over a field that a later version has added.
    package mutating func skip() throws(StoreError) {
        switch type {
        case .varint: _ = try varint()
        case .fixed64: _ = try take(8)
        case .bytes: _ = try take(try length())
        }
    }

    /// Passes the field on as it is.
    package mutating func copy(_ field: UInt8, to writer: inout RecordWriter) throws(StoreError) {
        let start = position
        try skip()
        writer.put(field, raw: bytes[start..<position], of: type)
    }

    // MARK: Parts of a packed field

    package mutating func text() throws(StoreError) -> String {
        let text = try take(try length())
        return text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    package mutating func zigzag() throws(StoreError) -> Int64 {
        let value = try varint()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    package mutating func varint() throws(StoreError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 64, position < bytes.endIndex {
            let byte = bytes[position]
            position += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw .damagedRecord
    }

    /// As many bytes as the length before them says.
    package mutating func chunk() throws(StoreError) -> ArraySlice<UInt8> {
        try take(try length())
    }

    private mutating func length() throws(StoreError) -> Int {
        guard let length = Int(exactly: try varint()) else { throw .damagedRecord }
        return length
    }

    private mutating func take(_ count: Int) throws(StoreError) -> ArraySlice<UInt8> {
        guard count <= bytes.endIndex - position else { throw .damagedRecord }
        defer { position += count }
        return bytes[position..<position + count]
    }

    private func expect(_ type: WireType) throws(StoreError) {
        guard self.type == type else { throw .damagedRecord }
    }
}

extension StoreError {
    /// A record that no version of this store has written.
    package static let damagedRecord = StoreError.damaged("A stored record cannot be read.")
}
