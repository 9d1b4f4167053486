internal import Loop
internal import Semantics

/// Where a session's servers and proxies have accepted which password: there it goes along unasked
/// (S-83).
///
/// In memory only; whether the session still remembers the password is for its `CredentialStorage`
/// to say.
@LoopActor
final class AcceptedCredentials {
    /// Who has accepted something.
    struct Asker: Hashable {
        let origin: WebURL.Origin
        let isProxy: Bool
    }

    /// A password, and where it was accepted.
    struct Entry {
        let space: ProtectionSpace
        fileprivate(set) var use: AuthenticationRound.Use
        /// Where it is sent.
        fileprivate(set) var scope: ProtectionScope
        /// What a proof of Digest answers next.
        fileprivate(set) var digest: DigestChallenge?
        /// Paths that it has opened, and paths in its scope that belong to another space; the
        /// newest last.
        fileprivate var opened: [String] = []
        fileprivate var closed: [String] = []
    }

    private static let askerLimit = 1_000
    private static let spaceLimit = 32
    private static let pathLimit = 64

    /// What each has accepted, the newest last.
    private var entries: [Asker: [Entry]] = [:]
    private var askers: [Asker] = []

    /// Whether nobody has accepted anything yet.
    var isEmpty: Bool { entries.isEmpty }

    /// What goes to a path: what has opened that very path, else what is meant for the longest
    /// prefix of it. Where two spaces could have it, neither is told the other's secret.
    func entry(for path: String, at asker: Asker) -> Entry? {
        let candidates = (entries[asker] ?? []).filter { !$0.closed.contains(path) }
        if let known = candidates.last(where: { $0.opened.contains(path) }) { return known }
        let matches = candidates.compactMap { entry in
            entry.scope.match(path).map { (entry: entry, length: $0) }
        }
        let longest = matches.map(\.length).max()
        let best = matches.filter { $0.length == longest }
        return best.count == 1 ? best[0].entry : nil
    }

    /// What a task has presented was accepted at a path.
    func note(_ round: AuthenticationRound, at path: String, by asker: Asker) {
        guard let space = round.space, let use = round.use else { return }
        var list = entries[asker] ?? []
        let index = list.firstIndex { $0.space == space }
        var entry =
            index.map { list.remove(at: $0) }
            ?? Entry(space: space, use: use, scope: round.scope)
        entry.use = use
        entry.digest = round.digest
        entry.scope.add(round.scope, limit: AcceptedCredentials.pathLimit)
        entry.closed.removeAll { $0 == path }
        AcceptedCredentials.add(path, to: &entry.opened)
        if list.count == AcceptedCredentials.spaceLimit { list.removeFirst() }
        list.append(entry)
        if entries[asker] == nil { remember(asker) }
        entries[asker] = list
    }

    /// A path belongs to another space than the one that was taken for its own.
    func close(_ path: String, to space: ProtectionSpace, at asker: Asker) {
        guard let index = entries[asker]?.firstIndex(where: { $0.space == space }) else { return }
        entries[asker]?[index].opened.removeAll { $0 == path }
        AcceptedCredentials.add(path, to: &entries[asker, default: []][index].closed)
    }

    /// Nothing goes to a space unasked until it has accepted something again.
    func forget(_ space: ProtectionSpace, at asker: Asker) {
        entries[asker]?.removeAll { $0.space == space }
    }

    func removeAll() {
        entries = [:]
        askers = []
    }

    private func remember(_ asker: Asker) {
        if askers.count == AcceptedCredentials.askerLimit { entries[askers.removeFirst()] = nil }
        askers.append(asker)
    }

    private static func add(_ path: String, to paths: inout [String]) {
        guard !paths.contains(path) else { return }
        if paths.count == pathLimit { paths.removeFirst() }
        paths.append(path)
    }
}

extension ProtectionScope {
    /// Widens the scope, by as many prefixes as there is room for.
    fileprivate mutating func add(_ other: ProtectionScope, limit: Int) {
        guard !prefixes.isEmpty, !other.prefixes.isEmpty else {
            self = .everything
            return
        }
        for prefix in other.prefixes where !contains(prefix) {
            prefixes.removeAll { other.contains($0) }
            if prefixes.count == limit { prefixes.removeFirst() }
            prefixes.append(prefix)
        }
    }
}
