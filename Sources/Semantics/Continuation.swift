/// How a download that lost its exchange goes on with another one, without a byte twice or amiss (S-32).
///
/// By a range behind what was received, on the condition that the entity is still the same
/// (RFC 9110 §13.1.5, §14.2).
public struct Continuation: Hashable, Sendable {
    /// Where it goes on: the count of bytes that were received.
    public let offset: Int64
    /// What the entity must still be.
    public let tag: EntityTag
    /// The length of the whole, if the first response told it.
    public let total: Int64?

    /// How the body of a response goes on; nil where that cannot be: another status than 200, a server that does
    /// not offer ranges, no strong entity tag, or nothing left to ask for.
    ///
    /// - Parameters:
    ///   - response: the first response.
    ///   - received: how many bytes of its body were received.
    public init?(of response: ResponseRecord, received: Int64) {
        let offers = response.headers.values(of: "Accept-Ranges")
        guard response.status == 200, offers.contains(where: { $0.equalsIgnoringCase("bytes") }),
            let tag = response.headers.first("ETag").flatMap(EntityTag.init), !tag.isWeak
        else { return nil }
        let length = response.expectedContentLength
        guard length == unknownSize || received < length else { return nil }
        self.offset = received
        self.tag = tag
        self.total = length == unknownSize ? nil : length
    }

    /// The fields that ask for the rest.
    public var fields: [HeaderField] {
        [HeaderField("Range", "bytes=\(offset)-"), HeaderField("If-Range", tag.description)]
    }

    /// Whether a response is the rest of the same entity: a 206 from exactly `offset` to the end, of the same length,
    /// with the same tag if it has one.
    public func isContinued(by status: Int, _ headers: HeaderList) -> Bool {
        guard status == 206,
            case .satisfied(let range, let total)? = headers.first("Content-Range").flatMap(
                ContentRange.init),
            range.first == offset, self.total == nil || total == nil || total == self.total
        else { return false }
        if let whole = total ?? self.total, range.last != whole - 1 { return false }
        guard let tag = headers.first("ETag") else { return true }
        return EntityTag(tag)?.matchesStrongly(self.tag) ?? false
    }
}
