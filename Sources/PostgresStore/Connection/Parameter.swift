internal import CPostgres
internal import Semantics

/// A value that goes to the server, in the binary format of its type.
/// <https://www.postgresql.org/docs/15/protocol-overview.html#PROTOCOL-FORMAT-CODES>
struct Parameter: Sendable {
    /// The type's number, as `pg_type` has it.
    let type: Oid
    /// Nil for NULL.
    let bytes: [UInt8]?

    /// A `bigint`.
    static func number(_ value: Int64?) -> Parameter {
        Parameter(type: 20, bytes: value.map(bytes(of:)))
    }

    /// A `boolean`.
    static func flag(_ value: Bool) -> Parameter {
        Parameter(type: 16, bytes: [value ? 1 : 0])
    }

    /// A `bytea`.
    static func bytes(_ value: [UInt8]?) -> Parameter { Parameter(type: 17, bytes: value) }

    /// The bytes of a text that people chose, in a `bytea`: it may have a NUL in it, which no
    /// `text` may.
    static func bytes(of text: String?) -> Parameter { .bytes(text.map { Array($0.utf8) }) }

    /// A `text`, for words of the gateway's own.
    static func text(_ value: String?) -> Parameter {
        Parameter(type: 25, bytes: value.map { Array($0.utf8) })
    }

    // MARK: Arrays, of which `unnest` makes a column each

    /// A `bigint[]`.
    static func numbers(_ values: [Int64?]) -> Parameter {
        array(1016, of: 20, values.map { $0.map(bytes(of:)) })
    }

    /// A `bigint[]` with the numbers of tenants, or NULL for all.
    static func tenants(_ tenants: Set<TenantID>?) -> Parameter {
        guard let tenants else { return Parameter(type: 1016, bytes: nil) }
        return numbers(tenants.map(\.rawValue))
    }

    /// A `boolean[]`.
    static func flags(_ values: [Bool]) -> Parameter {
        array(1000, of: 16, values.map { [$0 ? 1 : 0] })
    }

    /// A `bytea[]`.
    static func chunks(_ values: [[UInt8]?]) -> Parameter { array(1001, of: 17, values) }

    /// A `bytea[]` of texts that people chose.
    static func chunks(of texts: [String?]) -> Parameter {
        chunks(texts.map { $0.map { Array($0.utf8) } })
    }

    /// A `text[]`.
    static func texts(_ values: [String]) -> Parameter {
        array(1009, of: 25, values.map { Array($0.utf8) })
    }

    private static func bytes(of number: Int64) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    /// The format of `array_send`: dimensions, whether there are NULLs, the type of the elements;
    /// length and lower bound of the one dimension; then each element behind its length, of which
    /// -1 is NULL.
    /// <https://github.com/postgres/postgres/blob/REL_15_STABLE/src/backend/utils/adt/arrayfuncs.c>
    private static func array(_ type: Oid, of element: Oid, _ values: [[UInt8]?]) -> Parameter {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + values.reduce(0) { $0 + 4 + ($1?.count ?? 0) })
        func append(_ number: Int32) {
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        }
        append(values.isEmpty ? 0 : 1)
        append(values.contains { $0 == nil } ? 1 : 0)
        append(Int32(bitPattern: element))
        if !values.isEmpty {
            append(Int32(values.count))
            append(1)
        }
        for value in values {
            append(value.map { Int32($0.count) } ?? -1)
            if let value { bytes += value }
        }
        return Parameter(type: type, bytes: bytes)
    }
}
