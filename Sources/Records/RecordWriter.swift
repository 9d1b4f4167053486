/// Writes a record as numbered fields: the wire format of Protocol Buffers, so that a column can be
/// looked into with `protoc --decode_raw`, and a later version can add fields that an earlier one
/// passes over.
/// <https://protobuf.dev/programming-guides/encoding/>
///
/// Signed integers are zigzag. A field that has its default value is left out by the caller.
package struct RecordWriter {
    package private(set) var bytes: [UInt8] = []

    /// A record with nothing in it.
    package init() {}

    package var isEmpty: Bool { bytes.isEmpty }

    /// Starts over, and keeps the memory.
    package mutating func reset() { bytes.removeAll(keepingCapacity: true) }

    package mutating func put(_ field: UInt8, _ value: Int64) {
        tag(field, .varint)
        varint(zigzag: value)
    }

    package mutating func put(_ field: UInt8, _ value: Int) { put(field, Int64(value)) }

    package mutating func put(_ field: UInt8, _ value: Int64?) {
        if let value { put(field, value) }
    }

    package mutating func put(_ field: UInt8, _ value: Int?) {
        if let value { put(field, Int64(value)) }
    }

    package mutating func put(_ field: UInt8, _ value: Bool) {
        if value { put(field, Int64(1)) }
    }

    package mutating func put(_ field: UInt8, _ value: Double) {
        tag(field, .fixed64)
        withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func put(_ field: UInt8, _ value: String) {
        tag(field, .bytes)
        text(value)
    }

    package mutating func put(_ field: UInt8, _ value: String?) {
        if let value { put(field, value) }
    }

    package mutating func put(_ field: UInt8, _ value: [UInt8]) {
        tag(field, .bytes)
        chunk(value)
    }

    /// Puts two numbers as one packed field.
    package mutating func put(_ field: UInt8, numbers first: Int64, _ second: Int64) {
        put(
            field,
            record: { writer in
                writer.varint(zigzag: first)
                writer.varint(zigzag: second)
            })
    }

    /// Puts a record inside the record.
    package mutating func put(_ field: UInt8, record body: (inout RecordWriter) -> Void) {
        let mark = begin(field)
        body(&self)
        end(mark)
    }

    /// Puts a value as it was laid out before.
    package mutating func put(_ field: UInt8, raw value: ArraySlice<UInt8>, of type: WireType) {
        tag(field, type)
        bytes.append(contentsOf: value)
    }

    // MARK: Records inside the record

    /// Begins a record inside the record; `end` must follow.
    package mutating func begin(_ field: UInt8) -> Mark {
        let start = bytes.count
        tag(field, .bytes)
        bytes.append(0)
        return Mark(start: start, content: bytes.count)
    }

    /// Ends the record that was begun at the mark. Its length is known only now: a long one is
    /// moved by a few bytes.
    package mutating func end(_ mark: Mark) {
        let length = bytes.count - mark.content
        if length < 0x80 {
            bytes[mark.content - 1] = UInt8(length)
        } else {
            var prefix = RecordWriter()
            prefix.varint(UInt64(length))
            bytes.replaceSubrange(mark.content - 1..<mark.content, with: prefix.bytes)
        }
    }

    /// Ends the record that was begun at the mark, and takes it back if nothing is in it.
    package mutating func endOrDrop(_ mark: Mark) {
        if bytes.count == mark.content {
            bytes.removeSubrange(mark.start...)
        } else {
            end(mark)
        }
    }

    /// Where an unfinished record inside the record begins.
    package struct Mark {
        fileprivate let start: Int
        fileprivate let content: Int
    }

    // MARK: Parts of a packed field

    /// A length and the bytes.
    package mutating func chunk(_ value: [UInt8]) {
        varint(UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    /// A length and the text's UTF-8.
    package mutating func text(_ value: String) {
        value.utf8Span.span.withUnsafeBytes { text in
            varint(UInt64(text.count))
            bytes.append(contentsOf: text)
        }
    }

    /// A number with its sign in the lowest bit.
    package mutating func varint(zigzag value: Int64) {
        varint(UInt64(bitPattern: value &<< 1 ^ value &>> 63))
    }

    /// Seven bits a byte, the lowest first; the top bit says that more follows.
    package mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    private mutating func tag(_ field: UInt8, _ type: WireType) {
        varint(UInt64(field) << 3 | UInt64(type.rawValue))
    }
}

/// How a field's value is laid out.
package enum WireType: UInt8 {
    case varint = 0
    case fixed64 = 1
    case bytes = 2
}
