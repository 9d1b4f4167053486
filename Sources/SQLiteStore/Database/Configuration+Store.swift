internal import CSQLite
internal import GRDB

extension Configuration {
    /// Each allocation would take a lock of the whole process to count what nobody asks for. Where
    /// SQLite is in use already, as in tests, it counts on.
    private static let memoryIsNotCounted = csqlite_count_memory(0) == SQLITE_OK

    /// What every configuration begins as: SQLite takes its options before its first use alone,
    /// whichever that is.
    static var store: Configuration {
        _ = memoryIsNotCounted
        return Configuration()
    }
}
