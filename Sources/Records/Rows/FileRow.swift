package import Engine
package import Semantics

extension StagedFile {
    /// The file in a row of these columns: id, tenant, length, isComplete, announcedLength,
    /// expectedDigest, mediaType, createdAt, usedAt, series.
    package init(row: some StoredRow) throws(StoreError) {
        var digest: ContentDigest?
        if let text = row.stringOrNil(5) { digest = try ContentDigest(stored: text) }
        self.init(
            id: FileID(rawValue: row.int64(0)), tenant: TenantID(rawValue: row.int64(1)),
            announcedLength: row.int64OrNil(4), expectedDigest: digest,
            mediaType: row.stringOrNil(6),
            createdAt: Timestamp(milliseconds: row.int64(7)),
            usedAt: KeptTime(milliseconds: row.int64(8)))
        length = row.int64(2)
        isComplete = row.bool(3)
        series = row.int64OrNil(9)
    }
}
