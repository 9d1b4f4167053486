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
        if let id { append("id: ", id.utf8, to: &output) }
        format(name: name, data: data, onto: &output)
    }

    /// The same, of an event whose id is a prefix with its position, or that has none: the two are
    /// not put together first.
    static func format(
        idPrefix: String, position: Int64?, name: String, data: [UInt8],
        onto output: inout [UInt8]
    ) {
        if let position {
            append("id: ", idPrefix.utf8, to: &output)
            output.removeLast()  // the line goes on
            output.append(contentsOf: String(position).utf8)
            output.append(Octets.lineFeed)
        }
        format(name: name, data: data, onto: &output)
    }

    private static func format(name: String, data: [UInt8], onto output: inout [UInt8]) {
        append("event: ", name.utf8, to: &output)
        append("data: ", data, to: &output)
        output.append(Octets.lineFeed)
    }

    func format(onto output: inout [UInt8]) {
        EncodedEvent.format(id: id, name: name, data: data, onto: &output)
    }

    private static func append(
        _ field: StaticString, _ value: some Collection<UInt8>, to output: inout [UInt8]
    ) {
        output.append(
            contentsOf: UnsafeBufferPointer(
                start: field.utf8Start, count: field.utf8CodeUnitCount))
        let start = output.count
        output.append(contentsOf: value)
        output.withUnsafeMutableBytes { bytes in
            for forbidden: UInt8 in [0, Octets.lineFeed, Octets.carriageReturn] {
                var rest = UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
                while let base = rest.baseAddress,
                    let found = memchr(base, CInt(forbidden), rest.count)
                {
                    found.storeBytes(of: Octets.space, as: UInt8.self)
                    rest = UnsafeMutableRawBufferPointer(rebasing: rest[(found - base)...])
                }
            }
        }
        output.append(Octets.lineFeed)
    }
}
