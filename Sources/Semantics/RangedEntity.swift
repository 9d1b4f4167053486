/// A content that its server gives in parts, and that can be told from any other one: what resuming
/// (S-34) and several connections need.
public struct RangedEntity: Hashable, Sendable {
    /// At least one.
    public let validators: EntityValidators
    /// The length of the whole in bytes; nil where it was not told.
    public let total: Int64?

    /// An entity that was found to be one before; nil without validators, or for a negative length.
    public init?(validators: EntityValidators, total: Int64?) {
        guard !validators.isEmpty, (total ?? 0) >= 0 else { return nil }
        self.validators = validators
        self.total = total
    }

    /// The entity of a response; nil where its parts cannot be asked for: not GET, a status other
    /// than 200 and 206, no strong validator, a server that does not offer ranges, or a coded
    /// content, which may be coded differently the next time.
    ///
    /// - Parameters:
    ///   - response: a 206 must be the answer to a request of the gateway's own. The answer to a
    ///     `Range` of the client's is a whole content to the client, whose parts are not those of
    ///     the entity: such a request cannot be resumed.
    ///   - method: of the request; GET is the only one that has ranges (RFC 9110 §14.2).
    public init?(of response: ResponseRecord, method: String) {
        guard method == "GET", !ContentCoding.isCoded(response.headers) else { return nil }
        let total: Int64?
        switch response.status {
        case 200 where Self.offersRanges(response.headers):
            let length = response.expectedContentLength
            total = length == unknownSize ? nil : length
        case 206:
            guard case .satisfied(_, let length)? = ContentRange(of: response.headers) else {
                return nil
            }
            total = length
        default: return nil
        }
        self.init(validators: EntityValidators(of: response.headers), total: total)
    }

    /// RFC 9110 §14.3: a list of units.
    private static func offersRanges(_ headers: HeaderList) -> Bool {
        headers.values(of: "Accept-Ranges").contains { value in
            value.split(separator: ",").contains {
                $0.trimmingFieldSpace.equalsIgnoringCase("bytes")
            }
        }
    }
}

extension ContentRange {
    /// What the one `Content-Range` of a response says; nil where there is none, or several that
    /// differ.
    init?(of headers: HeaderList) {
        guard let text = headers.only("Content-Range") else { return nil }
        self.init(parsing: text)
    }
}
