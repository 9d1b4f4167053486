internal import Glibc
internal import Syntax

/// One numbered event as it goes over the wire.
public struct EncodedEvent: Sendable, Equatable {
    /// Its place in the stream; strictly growing.
    public var position: Int64
    /// What the client gives back as `Last-Event-ID`.
    public var id: String
    /// The value of `event:`.
    public var name: String
    /// The value of `data:`, one line.
    public var data: [UInt8]

    /// Makes an event.
    public init(position: Int64, id: String, name: String, data: [UInt8]) {
        self.position = position
        self.id = id
        self.name = name
        self.data = data
    }

    /// Appends the fields of an event and its empty line (WHATWG HTML §9.2.5) to `output`.
    ///
    /// CR, LF and NUL would end a field: where they stand there will be a space.
    public static func format(
        id: String?, name: String, data: [UInt8], onto output: inout [UInt8]
    ) {
        data.withUnsafeBytes {
            format(idPrefix: id, position: nil, name: name, data: $0, onto: &output)
        }
    }

    /// The same, of an event whose id is a prefix with its position behind it: the two are not put
    /// together first. Without a prefix it has no id.
    static func format(
        idPrefix: String?, position: Int64?, name: String, data: UnsafeRawBufferPointer,
        onto output: inout [UInt8]
    ) {
        let capacity = 64 + (idPrefix?.utf8.count ?? 0) + name.utf8.count
        // Put together here: an array makes sure of its room at every append.
        withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 1) { room in
            var head = FieldWriter(room: room)
            if let idPrefix {
                head.write("id: ")
                head.write(value: idPrefix)
                if let position { head.write(decimal: position) }
                head.write("\n")
            }
            head.write("event: ")
            head.write(value: name)
            head.write("\ndata: ")
            output.append(contentsOf: head.written)
        }
        let start = output.count
        output.append(contentsOf: data)
        output.withUnsafeMutableBytes {
            keepInField(UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
        }
        output.append(Octets.lineFeed)
        output.append(Octets.lineFeed)
    }

    /// Puts a space where a byte would end the field.
    private static func keepInField(_ value: UnsafeMutableRawBufferPointer) {
        for forbidden: UInt8 in [0, Octets.lineFeed, Octets.carriageReturn] {
            var rest = value
            while let base = rest.baseAddress,
                let found = memchr(base, CInt(forbidden), rest.count)
            {
                found.storeBytes(of: Octets.space, as: UInt8.self)
                rest = UnsafeMutableRawBufferPointer(rebasing: rest[(found - base)...])
            }
        }
    }

    func format(onto output: inout [UInt8]) {
        EncodedEvent.format(id: id, name: name, data: data, onto: &output)
    }

    /// Writes fields into a buffer that has room for them.
    private struct FieldWriter {
        let room: UnsafeMutableRawBufferPointer
        var count = 0

        var written: Slice<UnsafeMutableRawBufferPointer> { room[..<count] }

        mutating func write(_ text: StaticString) {
            put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        }

        /// A value, with a space where what would end its field stands.
        mutating func write(value: String) {
            let start = count
            var value = value
            value.withUTF8 { put(UnsafeRawBufferPointer($0)) }
            keepInField(UnsafeMutableRawBufferPointer(rebasing: room[start..<count]))
        }

        mutating func write(decimal number: Int64) {
            // Made from the last digit on at the end of the room, which is free, and then moved.
            var (rest, start) = (number.magnitude, room.count)
            repeat {
                start -= 1
                room[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            put(UnsafeRawBufferPointer(rebasing: room[start...]))
        }

        private mutating func put(_ bytes: UnsafeRawBufferPointer) {
            UnsafeMutableRawBufferPointer(rebasing: room[count...]).copyMemory(from: bytes)
            count += bytes.count
        }
    }
}
