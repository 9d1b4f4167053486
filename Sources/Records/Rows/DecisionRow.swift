package import Engine
package import Semantics

extension DecisionRecord {
    /// The question as it is kept: the event's number, then what of its payload may lie in clear;
    /// and the rest, which is to be sealed.
    package var questionParts: RecordParts {
        precondition(
            question.decision?.id == id && question.decision?.kind == kind,
            "a question asks for its own decision")
        var parts = RecordParts()
        parts.clear.varint(UInt64(EventKind(question).rawValue))
        EventCoding.write(question, to: &parts)
        return parts
    }

    /// The decision in a row of these columns: id, tenant, session, task, kind, state, createdAt,
    /// deadline, question and its secret.
    package init(row: some StoredRow, sealer: any Sealer) throws(StoreError) {
        let id = DecisionID(rawValue: row.int64(0))
        let tenant = TenantID(rawValue: row.int64(1))
        guard let kind = DecisionKind(rawValue: try row.string(4)) else { throw .damagedRecord }
        var question = RecordReader(row.bytes(8))
        guard let number = UInt8(exactly: try question.varint()),
            let event = EventKind(rawValue: number)
        else { throw .damagedRecord }
        let secret = try sealer.openIfPresent(
            row.bytesOrNil(9), for: .question(of: id, tenant: tenant))
        let body = try EventCoding.body(event, payload: question.rest + (secret ?? []))
        guard body.decision?.id == id, body.decision?.kind == kind else { throw .damagedRecord }
        self.init(
            id: id, tenant: tenant, session: SessionID(rawValue: row.int64(2)),
            task: TaskID(rawValue: row.int64(3)), kind: kind,
            createdAt: Timestamp(milliseconds: row.int64(6)),
            deadline: Timestamp(milliseconds: row.int64(7)),
            question: body)
        state = try DecisionState(stored: row.int64(5))
    }
}
