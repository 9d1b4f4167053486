package import Engine

/// A row as a database gives it; columns from 0. What is not there, or of another type, is nothing.
package protocol StoredRow {
    /// The number; 0 for NULL.
    func int64(_ column: Int32) -> Int64
    /// The number; nil for NULL.
    func int64OrNil(_ column: Int32) -> Int64?
    /// Whether the number is not 0.
    func bool(_ column: Int32) -> Bool
    /// The text; nil for NULL.
    func stringOrNil(_ column: Int32) -> String?
    /// The bytes; nil for NULL.
    func bytesOrNil(_ column: Int32) -> [UInt8]?
    /// The bytes; none for NULL.
    func bytes(_ column: Int32) -> [UInt8]
}

extension StoredRow {
    /// The text of a column that must have some.
    package func string(_ column: Int32) throws(StoreError) -> String {
        guard let text = stringOrNil(column) else { throw .damagedRecord }
        return text
    }
}
