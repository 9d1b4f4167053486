internal import Syntax

/// A request for another server.
public struct OutgoingRequest {
    private(set) var fields: HTTP2Fields
    /// The first bytes of the body, or all.
    let body: [UInt8]
    /// Whether nothing follows them.
    let isWhole: Bool

    /// A request with the method and the target of one that has come, byte for byte, and no fields
    /// yet.
    ///
    /// - Parameters:
    ///   - request: The one that has come.
    ///   - origin: Where it goes.
    ///   - body: All of its body; nil where that follows, piece by piece.
    ///   - length: How many bytes the body has; nil where that is not known.
    public init(
        like request: Request, to origin: ServerOrigin, body: [UInt8]?, length: Int64?
    ) {
        let fields = request.withMethod { method in
            request.withTarget { HTTP2Fields(method: method, target: $0, to: origin) }
        }
        self.init(fields, body: body, length: length)
    }

    init(_ fields: HTTP2Fields, body: [UInt8]?, length: Int64?) {
        self.fields = fields
        self.body = body ?? []
        isWhole = body != nil
        if let length, length > 0 || !isWhole {
            self.fields.add("content-length") { $0.append(contentsOf: String(length).utf8) }
        }
    }

    /// Adds a field.
    ///
    /// - Parameters:
    ///   - name: Its name, in lower case.
    ///   - value: Its value.
    ///   - isUnique: Whether it is another one in every request.
    public mutating func add(_ name: StaticString, _ value: String, isUnique: Bool = false) {
        fields.add(name, isUnique: isUnique) { $0.append(text: value) }
    }

    /// Adds the fields of a request that has come, but for those that are about its connection
    /// (RFC 9110 §7.6.1) and those that this end says anew: the length, the authority, what is
    /// expected.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - isLeftOut: Whether another one does not go along, by its name.
    public mutating func addFields(
        of request: Request, except isLeftOut: (UnsafeRawBufferPointer) -> Bool
    ) {
        request.head.bytes.withUnsafeBytes { bytes in
            let options = OutgoingRequest.connectionOptions(of: request.head, bytes)
            for field in request.head.fields {
                let name = UnsafeRawBufferPointer(rebasing: bytes[field.name.range])
                guard !HopFields.contains(name), !isLeftOut(name),
                    !options.contains(where: { Octets.equalIgnoringCase($0, name) })
                else { continue }
                fields.add(name, UnsafeRawBufferPointer(rebasing: bytes[field.value.range]))
            }
        }
    }

    /// What the request's own Connection fields name.
    private static func connectionOptions(
        of head: RequestHead, _ bytes: UnsafeRawBufferPointer
    ) -> [Slice<UnsafeRawBufferPointer>] {
        var options: [Slice<UnsafeRawBufferPointer>] = []
        for field in head.fields where field.name.range.count == 10 {
            let name = UnsafeRawBufferPointer(rebasing: bytes[field.name.range])
            guard Octets.equal(name, "connection") else { continue }
            options += bytes[field.value.range].split(separator: UInt8(ascii: ","))
                .map(Octets.trimmed)
        }
        return options
    }
}

/// The fields that are about one connection alone, or that whoever sends a message on says anew.
public enum HopFields {
    private static let names: [StaticString] = [
        "host", "connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
        "proxy-authentication-info", "proxy-connection", "te", "trailer", "transfer-encoding",
        "upgrade", "http2-settings", "content-length", "expect",
    ]

    /// Whether a name, in any case, is one of theirs.
    static func contains(_ name: UnsafeRawBufferPointer) -> Bool {
        names.contains { Octets.equal(name, $0) }
    }
}
