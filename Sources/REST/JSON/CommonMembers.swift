internal import JSON

/// Members that several descriptions have alike, and the bounds of others.
extension JSONReader {
    /// A client's own words (`Description` of openapi.yaml), or null.
    mutating func clientDescription() throws(JSONError) -> String? {
        try optional { r throws(JSONError) in try r.string(byteLimit: 1024) }
    }

    /// A URL (`WebURL` of openapi.yaml), not parsed yet.
    mutating func urlText() throws(JSONError) -> String { try string(byteLimit: 16_384) }

    /// The URL of a request that Ferry has shown: a redirect's may be as long as URLs can be.
    mutating func shownURLText() throws(JSONError) -> String { try string(byteLimit: 32_768) }

    /// A string of so many bytes of UTF-8 at most.
    mutating func string(byteLimit: Int) throws(JSONError) -> String {
        let text = try string()
        guard text.utf8.count <= byteLimit else {
            throw fail("must not be longer than \(byteLimit) bytes")
        }
        return text
    }

    /// An array of so many elements at most, each read by `read`.
    mutating func array(
        limit: Int, _ read: (inout JSONReader) throws(JSONError) -> Void
    ) throws(JSONError) {
        var count = 0
        try array { reader throws(JSONError) in
            guard count < limit else { throw reader.fail("must not be beyond the first \(limit)") }
            count += 1
            try read(&reader)
        }
    }

    /// Bytes a second (`ByteRate` of openapi.yaml), or null for no limit.
    mutating func byteRate() throws(JSONError) -> Int64? {
        try optionalInt64(in: 1...1_000_000_000_000)
    }
}
