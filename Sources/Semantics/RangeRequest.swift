/// A request for a part of an entity, on the condition that it is still the same (S-36, X-9).
///
/// By `Range` and `If-Range` (RFC 9110 §13.1.5, §14.2): a server that has another entity by now, or
/// does not know ranges, answers with the whole instead. What it answers is believed only where it
/// says everything that it must.
public struct RangeRequest: Hashable, Sendable {
    /// What the part is of.
    public let entity: RangedEntity
    /// The offset of the first byte.
    public let start: Int64
    /// The offset behind the last byte; nil for everything to the entity's end.
    public let end: Int64?
    /// Whether `If-Range` names the date: no tag is known, or the server did not honour it.
    public let usesDate: Bool

    /// A request for the bytes from `start` to before `end`.
    ///
    /// - Parameters:
    ///   - entity: its tag is used where it has one, else its date.
    ///   - start: 0…total; at the total there is nothing, which a 416 confirms.
    ///   - end: greater than `start`, at most the total.
    public init(of entity: RangedEntity, from start: Int64, to end: Int64? = nil) {
        precondition(start >= 0 && start <= entity.total ?? .max, "A part begins in its entity.")
        precondition(end ?? .max > start, "A part has at least one byte.")
        precondition(end ?? 0 <= entity.total ?? .max, "A part ends in its entity.")
        self.init(entity, start, end, usesDate: entity.validators.tag == nil)
    }

    private init(_ entity: RangedEntity, _ start: Int64, _ end: Int64?, usesDate: Bool) {
        self.entity = entity
        self.start = start
        self.end = end
        self.usesDate = usesDate
    }

    /// The fields that ask for the part.
    public var fields: [HeaderField] {
        let validator =
            usesDate ? entity.validators.date : entity.validators.tag.map(\.description)
        return [HeaderField("Range", "bytes=\(start)-\(end.map { String($0 - 1) } ?? "")")]
            + (validator.map { [HeaderField("If-Range", $0)] } ?? [])
    }

    /// The same request by the date, for a server that did not honour the tag; nil where this one
    /// is by the date already, or there is none.
    ///
    /// RFC 9110 §13.1.5 wants the date only of clients without a tag. But some content delivery
    /// networks take a tag for changed whenever they are asked, and beginning anew costs more than
    /// asking once more; the tag of a 206 is compared all the same.
    public var byDate: RangeRequest? {
        guard !usesDate, entity.validators.date != nil else { return nil }
        return RangeRequest(entity, start, end, usesDate: true)
    }
}

/// What the answer to a `RangeRequest` is good for.
public enum RangeAnswer: Hashable, Sendable {
    /// 206: exactly the bytes from `start` to before `upTo` of the same entity follow.
    ///
    /// A server may give less than was asked for (RFC 9110 §15.3.7): then the rest is asked for
    /// anew. `total` is the length of the entity where it is known by now; without it only a 416
    /// tells the end.
    case rest(upTo: Int64, total: Int64?)
    /// 416: the entity has exactly as many bytes as lie before `start`, so nothing is missing
    /// behind it.
    case complete
    /// 200: the whole entity follows, from its first byte. Where its tag is ours it is still the
    /// same, and the server does not honour `If-Range` with a tag: `byDate` is worth one more
    /// request. Else all begins anew.
    case whole(isSameEntity: Bool)
    /// The answer contradicts what was asked or what is known, so that no byte of it may be used;
    /// one sentence for the error. With other bytes at the same URL by now, a request for the
    /// whole, from zero, can still succeed.
    case mismatch(String)
    /// Another status: a response like any other.
    case other
}

extension RangeRequest {
    /// What an answer to this request is good for, from its head alone.
    public func judge(status: Int, headers: HeaderList) -> RangeAnswer {
        switch status {
        case 200:
            .whole(
                isSameEntity: hasOurTag(headers) && !entity.validators.differInDate(from: headers))
        case 206: judgePart(headers)
        case 416: judgeRefusal(headers)
        default: .other
        }
    }

    private func hasOurTag(_ headers: HeaderList) -> Bool {
        guard let ours = entity.validators.tag, let tag = headers.only("ETag") else { return false }
        return EntityTag(tag)?.matchesStrongly(ours) ?? false
    }

    /// RFC 9110 §15.3.7.
    private func judgePart(_ headers: HeaderList) -> RangeAnswer {
        if let type = headers.first("Content-Type").flatMap(MediaType.init(parsing:)),
            type.mimeType == "multipart/byteranges"
        {
            return .mismatch("One range was asked for, and the server answers with several parts.")
        }
        guard !ContentCoding.isCoded(headers) else {
            return .mismatch("The server answers a range with a coded content.")
        }
        guard case .satisfied(let part, let told)? = ContentRange(of: headers) else {
            return .mismatch("The server answers a range without a valid Content-Range.")
        }
        if let problem = contradiction(part, told) ?? contradiction(part, in: headers)
            ?? contradictedValidator(headers)
        {
            return .mismatch(problem)
        }
        return .rest(upTo: part.last + 1, total: entity.total ?? told)
    }

    private func contradiction(_ part: ByteRange, _ told: Int64?) -> String? {
        if let total = entity.total, let told, told != total {
            return "The content has \(told) bytes now, and had \(total) before."
        }
        if part.first != start {
            return "The server's answer begins at byte \(part.first), and not at \(start)."
        }
        if let limit = end ?? entity.total ?? told, part.last >= limit {
            return "The server's answer ends at byte \(part.last), beyond \(limit - 1)."
        }
        return nil
    }

    private func contradiction(_ part: ByteRange, in headers: HeaderList) -> String? {
        do throws(ContentLength.Violation) {
            let length = try ContentLength.parse(headers.values(of: "Content-Length"))
            guard let length, length != part.count else { return nil }
            return "The server's answer has \(length) bytes for a range of \(part.count)."
        } catch {
            return error.sentence
        }
    }

    /// An answer need not repeat a validator that the request named; where it does, it must be the
    /// same one.
    private func contradictedValidator(_ headers: HeaderList) -> String? {
        if entity.validators.tag != nil, headers.contains("ETag"), !hasOurTag(headers) {
            return "The content has another entity tag than before."
        }
        return entity.validators.differInDate(from: headers)
            ? "The content has another date of modification than before." : nil
    }

    /// RFC 9110 §15.5.17. A 416 is never a result: the client did not ask for a range.
    private func judgeRefusal(_ headers: HeaderList) -> RangeAnswer {
        guard case .unsatisfied(let told)? = ContentRange(of: headers) else {
            return .mismatch("The server refuses the range without telling the content's length.")
        }
        if let total = entity.total, told != total {
            return .mismatch("The content has \(told) bytes now, and had \(total) before.")
        }
        if told < start {
            return .mismatch("The content has \(told) bytes now, fewer than \(start) before.")
        }
        if told > start {
            return .mismatch("The server refuses a range that its content of \(told) bytes has.")
        }
        if let problem = contradictedValidator(headers) { return .mismatch(problem) }
        return .complete
    }
}
