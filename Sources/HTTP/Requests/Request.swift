internal import Loop
internal import Syntax

/// One request: its header, and its body as a stream. Cheap to copy; text is made when asked for.
public struct Request {
    /// The body, empty when there is none.
    public let body: RequestBody
    /// The values that stand for `{name}` in the route's pattern.
    public var parameters: PathParameters { PathParameters(head: head, names: parameterNames) }
    /// All header fields.
    public var headers: RequestHeaders { RequestHeaders(head: head) }

    let head: RequestHead
    /// Whether nobody may send it but who is trusted.
    let needsTrust: Bool
    private let ownID: RequestID
    private let runner: RequestRunner
    private let parameterNames: [(name: String, segment: Int)]

    init(
        head: RequestHead, id: RequestID, body: RequestBody, runner: RequestRunner,
        parameters: [(name: String, segment: Int)], needsTrust: Bool
    ) {
        self.head = head
        ownID = id
        parameterNames = parameters
        self.body = body
        self.runner = runner
        self.needsTrust = needsTrust
    }

    /// What the answer and the log call the request: a token of at most 128 bytes.
    public var id: String {
        head.name(else: ownID)
    }

    /// The method, as it was sent: methods have case.
    public var method: String { head.text(head.method) }

    /// Lends the bytes of the method.
    public func withMethod<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result { try head.withBytes(of: head.method, body) }

    /// Lends the bytes of the path and the query, as they were sent.
    public func withTarget<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        guard !head.path.isEmpty else {
            let path = Array(path.utf8) + (rawQuery.map { Array("?".utf8) + $0.utf8 } ?? [])
            return try path.withUnsafeBytes(body)
        }
        let end = head.query?.range.upperBound ?? head.path.range.upperBound
        return try head.withBytes(of: ByteSpan(head.path.range.lowerBound, end), body)
    }

    /// What tells the request from all others that this server has got.
    public var number: UInt64 { ownID.number }

    /// The path as it was sent, without the query; `*` for that target.
    public var path: String {
        head.path.isEmpty ? "/" : head.text(head.path)
    }

    /// The query as it was sent, without its `?`; nil when the target has no `?`.
    public var rawQuery: String? { head.query.map { head.text($0) } }

    /// The pairs of the query in their order, decoded as form data; a name without `=` has the
    /// value "". Made anew by each call.
    public var query: [(name: String, value: String)] {
        guard let query = head.query else { return [] }
        return head.withBytes(of: query) { bytes in
            bytes.split(separator: UInt8(ascii: "&")).map { pair in
                let name = pair.prefix { $0 != UInt8(ascii: "=") }
                let text = { (part: Slice<UnsafeRawBufferPointer>) in
                    PercentCoding.text(UnsafeRawBufferPointer(rebasing: part), plusIsSpace: true)
                }
                return (name: text(name), value: text(pair.dropFirst(name.count + 1)))
            }
        }
    }

    /// The first value of `name` in the query.
    public func queryValue(_ name: String) -> String? {
        head.query == nil ? nil : query.first { $0.name == name }?.value
    }

    /// The host, and the port if it was given, that the request is for; nil only in HTTP/1.0.
    public var host: String? { head.host.isEmpty ? nil : head.text(head.host) }

    /// Whether that is the host, letter by letter; nil stands for none.
    public func isFor(host: String?) -> Bool {
        var host = host ?? ""
        return host.withUTF8 { utf8 in head.withBytes(of: head.host) { $0.elementsEqual(utf8) } }
    }

    /// The first value of the field `name`, which is given in lower case.
    public func header(_ name: StaticString) -> String? {
        head.field(name).map { head.text($0) }
    }

    /// Lends the bytes of the first field `name`, given in lower case, for comparing without a
    /// copy.
    public func withHeaderBytes<Result>(
        _ name: StaticString, _ body: (UnsafeRawBufferPointer?) throws -> Result
    ) rethrows -> Result {
        guard let value = head.field(name) else { return try body(nil) }
        return try head.withBytes(of: value) { try body($0) }
    }

    /// What belongs to the connection, whatever its requests.
    @LoopActor
    public var connection: ConnectionContext { runner.context }

    /// For whom the application answers. Nil before it knows, and for nobody.
    @LoopActor
    public var caller: (any Caller)? {
        get { runner.caller }
        nonmutating set { runner.caller = newValue }
    }

    /// The application knows who is at the other end, and lets it ask for many at once: it may take
    /// back as many requests as it likes, and this one may have a larger header than others.
    ///
    /// - Parameter client: What tells those from each other that are behind the other end: what
    ///   waits for one of them is no concern of the others.
    @LoopActor
    public func trust(askingFor client: String) {
        runner.client = client
        connection.isTrusted = true
    }

    /// Lets the request come to its end where it is what ends those of its caller.
    @LoopActor
    public func outliveCaller() { runner.outlivesCaller = true }

    /// Adds a field to whatever answer the request gets, problems of the front door among them.
    ///
    /// - Parameters:
    ///   - name: the field's name; given again, its value is replaced.
    ///   - value: its value.
    @LoopActor
    public func addToAnswer(_ name: String, _ value: String) {
        runner.answerFields.set(name, value)
    }

    /// Who sent the request.
    @LoopActor
    public var peer: Peer { connection.peer }

    /// Whether the request came over a unix socket.
    @LoopActor
    public var isOverUnixSocket: Bool { connection.isOverUnixSocket }
}

/// The header fields of a request, in the order of the wire.
public struct RequestHeaders: Sequence {
    let head: RequestHead

    /// The first value of the field `name`, in any case.
    public subscript(first name: String) -> String? {
        head.field(named: name).map { head.text($0) }
    }

    /// Every value of the field `name`, in any case.
    public func values(of name: String) -> [String] {
        head.fields.filter { Octets.equalIgnoringCase(head.bytes[$0.name.range], name.utf8) }
            .map { head.text($0.value) }
    }

    /// Goes through names and values.
    public func makeIterator() -> AnyIterator<(name: String, value: String)> {
        var fields = head.fields.makeIterator()
        return AnyIterator {
            fields.next().map { (name: head.text($0.name), value: head.text($0.value)) }
        }
    }
}

/// The decoded path segments that stand for a route's parameters.
public struct PathParameters {
    let head: RequestHead
    let names: [(name: String, segment: Int)]

    /// The value of `{name}`, never empty; nil when the route has no such parameter.
    ///
    /// An encoded slash in it is a part of the value.
    public subscript(name: String) -> String? {
        guard let segment = segment(name) else { return nil }
        return head.isEncoded
            ? head.withBytes(of: segment) { PercentCoding.text($0) } : head.text(segment)
    }

    /// The bytes of the value of `{name}`, for reading without making text of them; nil when the
    /// route has no such parameter.
    public func bytes(of name: String) -> ArraySlice<UInt8>? {
        guard head.isEncoded else { return segment(name).map { head.bytes[$0.range] } }
        return self[name].map { Array($0.utf8)[...] }
    }

    private func segment(_ name: String) -> ByteSpan? {
        guard let parameter = names.first(where: { $0.name == name }),
            head.segments.indices.contains(parameter.segment)
        else { return nil }
        return head.segments[parameter.segment]
    }
}
