package import Engine
package import Semantics

/// What a session remembers under numbers of its own, each sealed whole.
package protocol RememberedItem: Sendable {
    /// The table that has these, and nothing else.
    static var table: String { get }
    /// Writes the item. The record is sealed.
    func write(to writer: inout RecordWriter)
    /// Reads what `write` has written.
    init(_ reader: RecordReader, number: Int64) throws(StoreError)
}

extension Cookie: RememberedItem {
    package static let table = "cookie"

    package init(_ reader: RecordReader, number: Int64) throws(StoreError) {
        try self.init(reader, sequence: number)
    }
}

extension StoredCredential: RememberedItem {
    package static let table = "credential"

    package init(_ reader: RecordReader, number: Int64) throws(StoreError) {
        try self.init(reader)
    }
}
