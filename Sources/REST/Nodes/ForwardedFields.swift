internal import HTTP
internal import Syntax

/// What of a request goes along to another node, and what of its answer to the client.
enum ForwardedFields {
    /// In an answer to a node: what only the node that was asked can know.
    static let proof = "Ferry-Proof"
    /// In an answer to a node: it was not asked the right one, and nothing was done
    /// (`nothingDone`), or the tenant has left while the request was under way.
    static let moved = "Ferry-Moved"
    /// The value of `moved` where the request was not looked at.
    static let nothingDone = "1"
    /// The value of `moved` where what was asked for may have been done.
    static let interrupted = "0"

    /// What of a request this node has dealt with, or says anew: its own number, to which the
    /// request is never passed on, for whom it asks, and how the request is called.
    private static let ofThisNode: [StaticString] = [
        "authorization", "cookie", "origin", "ferry-node", "ferry-caller", "x-request-id",
    ]
    /// What of an answer this server adds by itself, or is for this node alone.
    private static let ofAnswer = ["date", "ferry-request-id", "ferry-moved", "ferry-proof"]
    /// Names that are not just written with capitals.
    private static let spelled = ["etag": "ETag", "www-authenticate": "WWW-Authenticate"]

    /// Whether a field of a request does not go along.
    static func isOfThisNode(_ name: UnsafeRawBufferPointer) -> Bool {
        ofThisNode.contains { Octets.equal(name, $0) }
    }

    /// The fields of an answer that the client gets.
    static func ofAnswer(_ head: IncomingHead) -> HeaderFields {
        var fields = HeaderFields()
        for (name, value) in head.fields where !ofAnswer.contains(name) {
            // This server says so, too, wherever it holds.
            if name == "vary", value == "Origin" { continue }
            fields.add(spelling(of: name), value)
        }
        return fields
    }

    /// A name as HTTP/1.1 usually writes it: some scripts mind.
    private static func spelling(of name: String) -> String {
        if let spelled = spelled[name] { return spelled }
        var isFirst = true
        return String(unsafeUninitializedCapacity: name.utf8.count) { output in
            var count = 0
            for byte in name.utf8 {
                output[count] = isFirst && Octets.isLetter(byte) ? byte & ~0x20 : byte
                isFirst = byte == UInt8(ascii: "-")
                count += 1
            }
            return count
        }
    }
}
