internal import JSON

extension GatewayClient {
    /// The elements of all pages of a list, as the gateway shows them, but at most `limit`.
    ///
    /// `member` is the list's name in a page, `query` begins with `&`.
    /// - Throws: as `json`.
    func pages(
        _ path: String, _ member: String, _ query: String = "", limit: Int = .max
    ) throws(ClientError) -> [JSONValue] {
        var found: [JSONValue] = []
        var cursor: String?
        repeat {
            let page = try json(
                "GET",
                path + "?limit=\(min(500, limit - found.count))" + query
                    + (cursor.map { "&cursor=" + PathText.escaped($0) } ?? ""))
            guard let elements = page[member]?.array else {
                throw .unexpectedAnswer("a list without \(member)")
            }
            found += elements
            let next = page["nextCursor"]?.string
            guard next == nil || next != cursor else {
                throw .unexpectedAnswer("a list that does not end")
            }
            cursor = next
        } while cursor != nil && found.count < limit
        return found
    }
}
