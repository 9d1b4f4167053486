package import Engine
package import Semantics

/// What of a stored response has columns.
package struct CacheRow: Sendable {
    package let id: CacheEntryID
    package let tenant: TenantID
    package let session: SessionID
    package let isFile: Bool
    package let usedAt: Timestamp

    package init(
        id: CacheEntryID, tenant: TenantID, session: SessionID, isFile: Bool, usedAt: Timestamp
    ) {
        self.id = id
        self.tenant = tenant
        self.session = session
        self.isFile = isFile
        self.usedAt = usedAt
    }

    /// What its metadata are sealed for.
    package var metadataContext: SealContext { .metadata(of: id, in: session, tenant: tenant) }
    /// What its content is sealed for.
    package var contentContext: SealContext { .content(of: id, in: session, tenant: tenant) }
}

extension CachedEntry {
    /// The response in a row of these columns, and its content where that lies there: id, tenant,
    /// isFile, usedAt, metadata, content, session.
    package static func read(
        _ row: some StoredRow, sealer: any Sealer
    ) throws(StoreError) -> (CachedEntry, [UInt8]?) {
        let columns = CacheRow(
            id: CacheEntryID(rawValue: row.int64(0)), tenant: TenantID(rawValue: row.int64(1)),
            session: SessionID(rawValue: row.int64(6)), isFile: row.bool(2),
            usedAt: Timestamp(milliseconds: row.int64(3)))
        let record = try sealer.openIfPresent(row.bytes(4), for: columns.metadataContext)
        let entry = try CachedEntry(metadata: RecordReader(record ?? []), columns: columns)
        let content = try sealer.openIfPresent(row.bytesOrNil(5), for: columns.contentContext)
        guard columns.isFile || Int64(content?.count ?? 0) == entry.response.length else {
            throw .damaged("A stored response has lost its content.")
        }
        return (entry, content)
    }
}
