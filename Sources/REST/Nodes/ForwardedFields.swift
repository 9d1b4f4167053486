internal import Engine
internal import HTTP
internal import Loop
internal import Semantics
internal import Syntax

/// What of a request goes along to another node, and what of its answer to the client.
@LoopActor
enum ForwardedFields {
    /// In an answer to a node: what only the node that was asked can know.
    nonisolated static let proof = "Ferry-Proof"
    /// The node's own number, in a request: it is never passed on to that one.
    nonisolated static let node = "Ferry-Node"
    /// For whom a node asks.
    nonisolated static let caller = "Ferry-Caller"
    /// In an answer to a node: it was not asked the right one, and nothing was done
    /// (`nothingDone`), or the tenant has left while the request was under way.
    nonisolated static let moved = "Ferry-Moved"
    /// The value of `moved` where the request was not looked at.
    nonisolated static let nothingDone = "1"
    /// The value of `moved` where what was asked for may have been done.
    nonisolated static let interrupted = "0"

    /// RFC 9110 §7.6.1: what is about the connection alone.
    private static let ofConnection: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
        "proxy-authentication-info", "proxy-connection", "te", "trailer", "transfer-encoding",
        "upgrade", "http2-settings",
    ]
    /// What this node has dealt with, or says anew.
    private static let ofThisNode = ofConnection.union([
        "host", "content-length", "authorization", "cookie", "origin", "expect", "ferry-node",
        "ferry-caller", "x-request-id",
    ])
    /// What this server adds by itself.
    private static let ofAnswer = ofConnection.union([
        "date", "content-length", "ferry-request-id", "ferry-moved", "ferry-proof",
    ])

    /// The fields of a request that go along, without what tells who asks.
    static func ofRequest(_ request: Request) -> HeaderList {
        let named = names(in: request.headers.values(of: "connection"))
        var fields = HeaderList()
        for (name, value) in request.headers {
            let lowercased = name.lowercased()
            guard !ofThisNode.contains(lowercased), !named.contains(lowercased) else { continue }
            fields.append(name, value)
        }
        fields.append("X-Request-Id", request.id)
        return fields
    }

    /// The fields of an answer that the client gets.
    static func ofAnswer(_ head: ResponseHead) -> HeaderFields {
        let named = names(in: head.headers.values(of: "connection"))
        var fields = HeaderFields()
        for field in head.headers.fields {
            let lowercased = field.name.lowercased()
            guard !ofAnswer.contains(lowercased), !named.contains(lowercased) else { continue }
            // This server says so, too, wherever it holds.
            if lowercased == "vary", field.value == "Origin" { continue }
            fields.add(field.name, field.value)
        }
        return fields
    }

    private static func names(in values: [String]) -> Set<String> {
        Set(
            values.flatMap { $0.split(separator: ",") }
                .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() })
    }

    /// The path and the query of a request, as they stand in a URL: what a client has sent without
    /// an escape that needs one gets it, which means the same.
    ///
    /// - Throws: 404 for a path with a segment that parsers of URLs take away: nothing has such a
    ///   name.
    static func target(of request: Request) throws(Problem) -> String {
        let path = request.path
        if path.contains("/.") || path.contains("%2") {
            for segment in path.split(separator: "/") {
                let bytes = PercentCoding.bytes(of: segment) ?? []
                guard bytes != Array(".".utf8), bytes != Array("..".utf8) else {
                    throw Problem.notFound
                }
            }
        }
        let target = path + (request.rawQuery.map { "?" + $0 } ?? "")
        return PercentCoding.text(encoding: target.utf8, keeping: isOfTarget)
    }

    private static func isOfTarget(_ byte: UInt8) -> Bool {
        Octets.isLetter(byte) || Octets.isDigit(byte) || others.contains(byte)
    }

    /// RFC 3986: what may stand in a path or a query beside letters and digits, and escapes.
    private static let others = Set("-._~!$&'()*+,;=:@/?%".utf8)
}
