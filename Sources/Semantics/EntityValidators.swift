internal import Syntax

/// What tells whether two responses carry parts of the same bytes: the strong validators of one
/// (RFC 9110 §8.8).
public struct EntityValidators: Hashable, Sendable {
    /// The `ETag`, only where it is strong.
    public let tag: EntityTag?
    /// The `Last-Modified` exactly as it came, only where it is strong.
    public let date: String?
    /// The `Last-Modified` exactly as it came, strong or not: that it is still the same proves
    /// nothing, but another one tells of another content, whatever the tag says. Some servers keep
    /// a tag when the file has changed.
    public let modified: String?

    /// Validators that were found strong before; a weak tag is dropped. The date is what `modified`
    /// was, if it is not given.
    public init(tag: EntityTag?, date: String?, modified: String? = nil) {
        self.tag = tag.flatMap { $0.isWeak ? nil : $0 }
        self.date = date
        self.modified = modified ?? date
    }

    /// The strong validators of a response. A field that came twice, with different values, is
    /// none.
    public init(of headers: HeaderList) {
        self.init(
            tag: headers.only("ETag").flatMap(EntityTag.init), date: Self.strongDate(of: headers),
            modified: headers.only("Last-Modified"))
    }

    /// Whether nothing can be told.
    public var isEmpty: Bool { tag == nil && date == nil }

    /// Whether a response shows another date of modification than the one that these are of.
    func differInDate(from headers: HeaderList) -> Bool {
        modified != nil && headers.contains("Last-Modified")
            && headers.only("Last-Modified") != modified
    }

    /// RFC 9110 §8.8.2.2: the response's own `Date` tells whether its content can have changed
    /// again within the second that `Last-Modified` names. Nothing tells that both come from one
    /// clock, so they must lie far enough apart that it does not matter.
    private static func strongDate(of headers: HeaderList) -> String? {
        // `Date` has four digits of the year (§5.6.7); no clock is needed for the century of
        // `Last-Modified` then.
        guard let dateText = headers.only("Date"), let text = headers.only("Last-Modified"),
            let date = HTTPDate(parsing: dateText, now: HTTPDate(secondsSince1970: 0)),
            date.description == dateText, let modified = HTTPDate(parsing: text, now: date),
            date.secondsSince1970 - modified.secondsSince1970 >= clockTolerance
        else { return nil }
        return text
    }

    /// Seconds, as in RFC 7232 §2.2.2; RFC 9110 leaves the number open.
    private static let clockTolerance: Int64 = 60
}

extension HeaderList {
    /// The value of the field of this name; nil where there is none, or where it repeats with
    /// another value.
    func only(_ name: String) -> String? {
        let values = values(of: name)
        guard let first = values.first, values.dropFirst().allSatisfy({ $0 == first }) else {
            return nil
        }
        return first
    }
}
