package import Engine
package import Semantics

extension IdempotencyRecord {
    /// The numbers of what was created, packed.
    package var packedCreated: [UInt8] {
        var packed = RecordWriter()
        var last: Int64 = 0
        for number in created {
            packed.varint(zigzag: number &- last)
            last = number
        }
        return packed.bytes
    }

    /// What a key has created, in a row of these columns: at, fingerprint, created.
    package init(
        row: some StoredRow, key: String, of tenant: TenantID, sealer: any Sealer
    ) throws(StoreError) {
        var packed = RecordReader(row.bytes(2))
        var created: [Int64] = []
        while !packed.isAtEnd { created.append((created.last ?? 0) &+ (try packed.zigzag())) }
        let fingerprint = try sealer.openIfPresent(row.bytes(1), for: .creation(key, of: tenant))
        self.init(
            tenant: tenant, key: key, fingerprint: fingerprint ?? [], created: created,
            at: KeptTime(milliseconds: row.int64(0)))
    }
}
