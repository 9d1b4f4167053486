package import Engine
package import Semantics

/// Seals values as stores keep them with another key. Each keeps its context and its length.
package struct Resealer {
    private let old: any Sealer
    private let new: any Sealer

    /// From the key that has sealed them to the one that is to open them.
    package init(from old: any Sealer, to new: any Sealer) {
        self.old = old
        self.new = new
    }

    /// A value sealed anew.
    /// - Throws: `SealError.notAuthentic` where it does not open with the old key.
    package func resealed(
        _ sealed: [UInt8], for context: SealContext
    ) throws(SealError) -> [UInt8] {
        try new.seal(try old.open(sealed, for: context), for: context)
    }

    // MARK: Errors

    /// The error with its resume data sealed anew (S-34); as it is where it has none that opens.
    private func resealed(_ error: TransferError, of tenant: TenantID) throws -> TransferError {
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

    /// The clear part of a task's status; nil where nothing in it is sealed.
    package func resealed(status clear: [UInt8], of tenant: TenantID) throws -> [UInt8]? {
        try TaskStatus.clear(clear) { try resealed($0, of: tenant) }
    }

    // MARK: Events

    /// A pack of a session's events; nil where nothing in it is sealed.
    package func resealed(
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
                event.payload = .sealed(try resealed(sealed, for: context))
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

    // MARK: Stored responses

    /// A stored response, with the fingerprint that it is looked up by with the new key.
    package struct Response {
        package let metadata: [UInt8]
        package let content: [UInt8]?
        package let fingerprint: Int64
    }

    /// A stored response; nil where it does not open, or cannot be read: it is as good as none.
    package func resealed(
        _ columns: CacheRow, metadata: [UInt8], content: [UInt8]?
    ) throws -> Response? {
        do {
            let metadata = try old.open(metadata, for: columns.metadataContext)
            let content = try content.map { try old.open($0, for: columns.contentContext) }
            let key = try CachedEntry(metadata: RecordReader(metadata), columns: columns)
                .response.key
            return Response(
                metadata: try new.seal(metadata, for: columns.metadataContext),
                content: try content.map { try new.seal($0, for: columns.contentContext) },
                fingerprint: key.fingerprint(in: columns.session, of: columns.tenant, by: new))
        } catch SealError.notAuthentic {
            return nil
        } catch StoreError.damaged {
            return nil
        }
    }
}
