package import Engine
internal import Semantics

extension Sealer {
    /// The part sealed; nil when nothing is in it.
    package func sealIfPresent(
        _ part: RecordWriter, for context: SealContext
    ) throws(SealError) -> [UInt8]? {
        part.isEmpty ? nil : try seal(part.bytes, for: context)
    }

    /// What was sealed; nil for nil.
    package func openIfPresent(
        _ sealed: [UInt8]?, for context: SealContext
    ) throws(StoreError) -> [UInt8]? {
        guard let sealed else { return nil }
        do {
            return try open(sealed, for: context)
        } catch {
            throw StoreError(error)
        }
    }
}

extension StoreError {
    /// The error of a value that does not open, or cannot be sealed.
    package init(_ error: SealError) {
        self =
            switch error {
            case .notAuthentic:
                .damaged(
                    "A sealed value does not open: it is damaged, or was sealed with another key.")
            case .failed(let words): .failed(words)
            }
    }
}

/// A sealed value of known content: it tells the right key from a wrong one before anything is
/// written.
package enum KeyWords {
    private static let words = Array("This database is sealed with this key.".utf8)
    private static let context = SealContext(
        tenant: TenantID(rawValue: 0), owner: 0, field: "key check")

    /// The value, for a database that is new, or is to have another key.
    package static func sealed(by sealer: any Sealer) throws(SealError) -> [UInt8] {
        try sealer.seal(words, for: context)
    }

    /// Whether the key is the one that the value was sealed with.
    package static func open(_ sealed: [UInt8], by sealer: any Sealer) throws(SealError) -> Bool {
        do throws(SealError) {
            return try sealer.open(sealed, for: context) == words
        } catch .notAuthentic {
            return false
        }
    }
}
