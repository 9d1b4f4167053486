/// The conditions of a request for a content, by the fields' values (RFC 9110 §13, §14).
///
/// Fields that repeat are joined with commas before. There is no `Last-Modified` here, so
/// conditions on dates do not apply.
public struct ContentConditions: Hashable, Sendable {
    /// `If-Match`.
    public var ifMatch: String?
    /// `If-None-Match`.
    public var ifNoneMatch: String?
    /// `Range`.
    public var range: String?
    /// `If-Range`.
    public var ifRange: String?

    /// The conditions from the fields' values.
    public init(
        ifMatch: String? = nil, ifNoneMatch: String? = nil, range: String? = nil,
        ifRange: String? = nil
    ) {
        self.ifMatch = ifMatch
        self.ifNoneMatch = ifNoneMatch
        self.range = range
        self.ifRange = ifRange
    }

    /// What to answer.
    public enum Answer: Hashable, Sendable {
        /// 200 with everything.
        case whole
        /// 206 with this part.
        case partial(ByteRange)
        /// 416 with `Content-Range: bytes */length`.
        case unsatisfiable
        /// 304.
        case notModified
        /// 412.
        case preconditionFailed
    }

    /// Evaluates the conditions of a GET or HEAD in the order of RFC 9110 §13.2.2.
    ///
    /// - Parameters:
    ///   - isHead: HEAD has no ranges (§14.2).
    ///   - entityTag: the content's own; nil while it has none.
    ///   - length: the content's, in bytes.
    /// - Returns: what to answer; never an error, for malformed conditions count as unmet.
    public func answer(isHead: Bool, entityTag: EntityTag?, length: Int64) -> Answer {
        if let ifMatch, !Self.matches(ifMatch, entityTag, by: EntityTag.matchesStrongly) {
            return .preconditionFailed
        }
        if let ifNoneMatch, Self.matches(ifNoneMatch, entityTag, by: EntityTag.matchesWeakly) {
            return .notModified
        }
        guard !isHead, rangeApplies(to: entityTag) else { return .whole }
        return switch ByteRange.select(range, length: length) {
        case .whole: .whole
        case .partial(let part): .partial(part)
        case .unsatisfiable: .unsatisfiable
        }
    }

    /// RFC 9110 §13.1.5: a date, or a tag that does not match strongly, makes the range void.
    private func rangeApplies(to entityTag: EntityTag?) -> Bool {
        guard let ifRange else { return true }
        guard let entityTag, let wanted = EntityTag(ifRange) else { return false }
        return entityTag.matchesStrongly(wanted)
    }

    private static func matches(
        _ text: String, _ entityTag: EntityTag?, by compare: (EntityTag) -> (EntityTag) -> Bool
    ) -> Bool {
        switch EntityTagCondition(parsing: text) {
        case .any: true
        case .tags(let tags): entityTag.map { tag in tags.contains { compare(tag)($0) } } ?? false
        case nil: false
        }
    }
}
