import Engine
import Semantics

/// Hides nothing, but opens for nobody else: what it is asked to seal is kept behind its context.
struct PlainSealer: Sealer {
    func seal(_ bytes: [UInt8], for context: SealContext) throws(SealError) -> [UInt8] {
        PlainSealer.prefix(context) + bytes
    }

    func open(_ sealed: [UInt8], for context: SealContext) throws(SealError) -> [UInt8] {
        let prefix = PlainSealer.prefix(context)
        guard sealed.starts(with: prefix) else { throw .notAuthentic }
        return Array(sealed.dropFirst(prefix.count))
    }

    func mark(_ bytes: [UInt8], for context: SealContext) -> Int64 {
        (PlainSealer.prefix(context) + bytes).reduce(5381) { $0 &* 33 &+ Int64($1) }
    }

    private static func prefix(_ context: SealContext) -> [UInt8] {
        Array("\(context.tenant.rawValue) \(context.owner) \(context.field)|".utf8)
    }
}
