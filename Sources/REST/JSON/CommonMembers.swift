internal import JSON

/// Members that sessions and tasks have alike.
extension JSONReader {
    /// A client's own words (`Description` of openapi.yaml), or null.
    mutating func clientDescription() throws(JSONError) -> String? {
        let text = try optionalString()
        guard text?.utf8.count ?? 0 <= 1024 else {
            throw fail("must not be longer than 1,024 bytes")
        }
        return text
    }

    /// Bytes a second (`ByteRate` of openapi.yaml), or null for no limit.
    mutating func byteRate() throws(JSONError) -> Int64? {
        try optionalInt64(in: 1...1_000_000_000_000)
    }
}
