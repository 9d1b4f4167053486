internal import Engine
internal import GRDB
internal import Records
internal import Semantics

extension Resealing {
    /// Seals what events carry. Packs without anything sealed are not written.
    func resealPacks() throws {
        let update = try PreparedStatement(
            database, "UPDATE event_pack SET events = ?2 WHERE id = ?1")
        try forEachRow(
            of: "event_pack",
            """
            SELECT id, tenant, session, events FROM event_pack WHERE id > ?1 ORDER BY id LIMIT 1
            """,
            key: \.id,
            { row in
                (
                    id: row.int64(0), tenant: TenantID(rawValue: row.int64(1)),
                    session: SessionID(rawValue: row.int64(2)), bytes: row.bytes(3)
                )
            }
        ) { id, tenant, session, bytes in
            guard let bytes = try resealed(pack: bytes, of: tenant, session) else { return }
            update.bind(1, id)
            try update.run(2, bytes)
        }
    }

    /// The pack sealed anew; nil where nothing in it is sealed.
    private func resealed(
        pack bytes: [UInt8], of tenant: TenantID, _ session: SessionID
    ) throws -> [UInt8]? {
        var reader = try EventPackReader(bytes)
        var writer = EventPackWriter(of: tenant, session, firstSequence: 0)
        var isChanged = false
        while var event = try reader.next() {
            switch event.payload {
            case .none, .derived: break
            case .sealed(let sealed):
                let context = SealContext.event(event.sequence, of: session, tenant: tenant)
                event.payload = .sealed(
                    try resealed(sealed, context))
                isChanged = true
            case .clear(let record):
                guard event.kind == .didComplete || event.kind == .didBecomeInvalid else { break }
                let error = try TransferError(RecordReader(record))
                let changed = try resealed(error, of: tenant)
                guard changed != error else { break }
                var parts = RecordWriter()
                changed.write(to: &parts)
                event.payload = .clear(parts.bytes)
                isChanged = true
            }
            writer.append(event)
        }
        return isChanged ? writer.bytes : nil
    }

    // MARK: Errors

    /// The error with its resume data sealed anew (S-34); as it is where it has none that opens.
    func resealed(_ error: TransferError, of tenant: TenantID) throws -> TransferError {
        guard case .string(let blob) = error.userInfo[TransferError.resumeDataKey] else {
            return error
        }
        let data: [UInt8]?
        do {
            data = try SealedResumeData.bytes(of: blob, openedBy: old, for: tenant)
        } catch SealError.notAuthentic {
            return error
        }
        guard let data else { return error }
        let resealed = try SealedResumeData.text(sealing: data, by: new, for: tenant)
        return error.adding(.string(resealed), for: TransferError.resumeDataKey)
    }
}
