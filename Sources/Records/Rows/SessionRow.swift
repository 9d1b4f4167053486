package import Engine
package import Semantics

extension SessionRecord {
    /// The session in a row of these columns: id, tenant, type, state, description, createdAt,
    /// invalidatedAt, lastSequence, lastTaskNumber, constants and their secret,
    /// maximumBytesPerSecond, knownLeaves, owesFinish, metadata.
    package init(row: some StoredRow, sealer: any Sealer) throws(StoreError) {
        let id = SessionID(rawValue: row.int64(0))
        let tenant = TenantID(rawValue: row.int64(1))
        guard let type = SessionType(rawValue: try row.string(2)),
            let state = SessionState(rawValue: try row.string(3))
        else { throw .damagedRecord }
        let constants = try SessionConstants(
            clear: row.bytes(9),
            secret: try sealer.openIfPresent(
                row.bytesOrNil(10), for: .constants(of: id, tenant: tenant)))
        self.init(
            id: id, tenant: tenant, type: type, identifier: constants.identifier,
            description: row.stringOrNil(4), configuration: constants.configuration,
            delegate: constants.delegate,
            createdAt: Timestamp(milliseconds: row.int64(5)))
        self.maximumBytesPerSecond = row.int64OrNil(11)
        self.knownLeaves = try KnownLeaf.leaves(in: row.bytes(12))
        self.state = state
        self.invalidatedAt = row.int64OrNil(6).map(KeptTime.init(milliseconds:))
        lastSequence = row.int64(7)
        lastTaskNumber = Int(row.int64(8))
        owesFinish = row.int64(13) != 0
        var metadata = RecordReader(row.bytes(14))
        self.metadata = try metadata.metadata()
    }
}

extension ClockMark {
    /// What kept time goes on from, in a row of its four numbers.
    package init(row: some StoredRow) throws(StoreError) {
        self.init(
            kept: KeptTime(milliseconds: row.int64(0)),
            wall: Timestamp(milliseconds: row.int64(1)),
            machine: MachineTime(boot: try row.string(2), elapsed: .milliseconds(row.int64(3))))
    }
}
