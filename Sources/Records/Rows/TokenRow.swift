package import Engine
package import Semantics

/// What of a token is in no column of its own.
private struct TokenProperties {
    fileprivate enum Field {
        static let scope: UInt8 = 1
        static let description: UInt8 = 2
    }

    var scopes: Set<Scope> = []
    var description: String?

    init(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.scope:
                // One of a later version allows nothing here.
                if let scope = Scope(rawValue: try reader.string()) { scopes.insert(scope) }
            case Field.description: description = try reader.string()
            default: try reader.skip()
            }
        }
    }
}

extension TokenRecord {
    /// The token in a row of these columns: id, tenant, digest, createdAt, expiresAt, lastUsedAt,
    /// properties.
    package init(row: some StoredRow) throws(StoreError) {
        let properties = try TokenProperties(RecordReader(row.bytes(6)))
        let digest = row.bytes(2)
        guard digest.count == 32, !properties.scopes.isEmpty else { throw .damagedRecord }
        self.init(
            id: TokenID(rawValue: row.int64(0)), tenant: TenantID(rawValue: row.int64(1)),
            digest: Array(digest), scopes: properties.scopes,
            createdAt: Timestamp(milliseconds: row.int64(3)),
            expiresAt: row.int64OrNil(4).map(Timestamp.init(milliseconds:)),
            description: properties.description)
        lastUsedAt = row.int64OrNil(5).map(Timestamp.init(milliseconds:))
    }

    /// Writes what is in no column of its own.
    package func write(to writer: inout RecordWriter) {
        for scope in Scope.allCases where scopes.contains(scope) {
            writer.put(TokenProperties.Field.scope, scope.rawValue)
        }
        writer.put(TokenProperties.Field.description, description)
    }
}
