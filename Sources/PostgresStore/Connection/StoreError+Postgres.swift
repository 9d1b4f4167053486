internal import Engine

/// What becomes of a connection, or a transaction, that has met an error.
enum Trouble {
    /// The connection is gone, or of no use: another one may do what this one could not.
    case lost
    /// Nothing was done, and the same may succeed at once.
    case retryable
}

extension Trouble {
    /// The trouble that a code of the server tells of; nil for all others.
    /// <https://www.postgresql.org/docs/15/errcodes-appendix.html>
    init?(state: String) {
        switch state {
        // Serialization failure, deadlock, a lock that was not to be had in time, a query that was
        // ended, or took too long.
        case "40001", "40P01", "55P03", "57014": self = .retryable
        // Shut down, starting up, idle or in a transaction for too long, only to be read (a
        // replica), no memory, too many connections.
        case "57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "25006", "53200", "53300":
            self = .lost
        case let state where state.hasPrefix("08"): self = .lost
        default: return nil
        }
    }
}

extension StoreError {
    /// The error for a code of the server, in the server's own words. What it says in detail is
    /// left out: it may have values in it.
    init(state: String, words: String) {
        let told = "\(words) (PostgreSQL \(state))"
        switch state {
        case "53100": self = .full
        // Nothing divides but `DatabaseLock.record`.
        case "22012": self = .lost
        // Corrupted data, corrupted index.
        case "XX001", "XX002": self = .damaged(told)
        default: self = Trouble(state: state) == nil ? .failed(told) : .away(told)
        }
    }
}
