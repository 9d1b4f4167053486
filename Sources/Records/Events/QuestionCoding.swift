package import Engine
package import Semantics

/// The payload of an event that asks for a decision: what it shows, and the notice of the decision.
///
/// A payload is the clear part and then the secret one, so that each record in it may come twice.
package struct QuestionCoding {
    /// Behind those of `ResponseRecord`, whose fields alone are the payload of a response that only
    /// informs.
    private enum Field {
        static let response: UInt8 = 9
        static let request: UInt8 = 10
        static let challenge: UInt8 = 11
        static let notice: UInt8 = 12
    }

    private enum NoticeField {
        static let id: UInt8 = 1
        static let kind: UInt8 = 2
        static let deadline: UInt8 = 3
    }

    private var response = RecordHalves()
    private var request = RecordHalves()
    private var challenge = RecordHalves()
    private var notice: DecisionNotice?

    /// Whether the event asks.
    package var asks: Bool { notice != nil }

    /// Writes a question with what it shows.
    package static func write(
        _ notice: DecisionNotice, response: ResponseRecord? = nil, request: RequestRecord? = nil,
        challenge: Challenge? = nil, to parts: inout RecordParts
    ) {
        if let response {
            parts.put(Field.response, record: { response.write(to: &$0, base: "") })
        }
        if let request { parts.put(Field.request, record: { request.write(to: &$0) }) }
        if let challenge { parts.put(Field.challenge, record: { challenge.write(to: &$0) }) }
        parts.clear.put(
            Field.notice,
            record: { writer in
                writer.put(NoticeField.id, notice.id.rawValue)
                writer.put(NoticeField.kind, notice.kind.rawValue)
                writer.put(NoticeField.deadline, notice.deadline.milliseconds)
            })
    }

    /// Reads what `write` has written; of a payload without a question, nothing.
    package init(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.response: response.take(try reader.record())
            case Field.request: request.take(try reader.record())
            case Field.challenge: challenge.take(try reader.record())
            case Field.notice: notice = try Self.notice(try reader.record())
            default: try reader.skip()
            }
        }
    }

    /// The event of this kind.
    package func body(_ kind: EventKind) throws(StoreError) -> EventBody {
        guard let notice else { throw .damagedRecord }
        switch kind {
        case .didReceiveResponse:
            return .didReceiveResponse(try ResponseRecord(response), decision: notice)
        case .didReceiveChallenge:
            let (clear, secret) = try challenge.whole()
            return .didReceiveChallenge(
                try Challenge(clear: clear, secret: secret), decision: notice)
        case .willPerformHTTPRedirection:
            return .willPerformHTTPRedirection(
                try ResponseRecord(response), request: try RequestRecord(request),
                decision: notice)
        case .willCacheResponse:
            return .willCacheResponse(try ResponseRecord(response), decision: notice)
        case .willBeginDelayedRequest:
            return .willBeginDelayedRequest(try RequestRecord(request), decision: notice)
        default: throw .damagedRecord
        }
    }

    private static func notice(_ reader: RecordReader) throws(StoreError) -> DecisionNotice {
        var reader = reader
        var id: Int64 = 0
        var kind: DecisionKind?
        var deadline: Int64 = 0
        while let field = try reader.next() {
            switch field {
            case NoticeField.id: id = try reader.int64()
            case NoticeField.kind: kind = try reader.raw()
            case NoticeField.deadline: deadline = try reader.int64()
            default: try reader.skip()
            }
        }
        guard let kind else { throw .damagedRecord }
        return DecisionNotice(
            id: DecisionID(rawValue: id), kind: kind, deadline: Timestamp(milliseconds: deadline))
    }
}
