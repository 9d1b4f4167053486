internal import Syntax

/// The part of a server, or of a proxy, in which a credential that was accepted is sent without
/// being asked for (S-83).
public struct ProtectionScope: Hashable, Sendable {
    /// What paths begin with; empty for every path.
    public var prefixes: [String]

    /// All of the server, or of the proxy.
    public static let everything = ProtectionScope(prefixes: [])

    /// A scope from its parts.
    public init(prefixes: [String]) { self.prefixes = prefixes }

    /// RFC 7617 §2.2: what Basic has opened at one path is open up to the last slash of it.
    public init(basicAt path: String) {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")).map(path.utf8.index(after:))
        prefixes = [end.map { String(path[..<$0]) } ?? "/"]
    }

    /// RFC 7616 §3.3: what Digest has opened at one path.
    ///
    /// - Parameters:
    ///   - path: where it was asked for.
    ///   - domain: the paths that the challenge names on that server; nil where it names nothing at
    ///     all, which means all of it. Other servers that it names get nothing: who asks may not
    ///     say where else the proof goes.
    public init(digestAt path: String, domain: [String]?) {
        guard let domain else {
            self = .everything
            return
        }
        self.init(basicAt: path)
        if !domain.isEmpty { prefixes = domain }
    }

    /// How much of a path decides that it is in the scope: 0 or more; nil for one that is outside.
    ///
    /// Prefixes end between segments. A path that a server may take for another one, since its dots
    /// or slashes are percent-encoded, is in no part of a server, only in all of it.
    public func match(_ path: String) -> Int? {
        guard !prefixes.isEmpty else { return 0 }
        guard !ProtectionScope.hasHiddenSteps(path) else { return nil }
        return prefixes.filter { ProtectionScope.begins(path, with: $0) }.map(\.utf8.count).max()
    }

    /// Whether a path is in the scope.
    public func contains(_ path: String) -> Bool { match(path) != nil }

    private static func begins(_ path: String, with prefix: String) -> Bool {
        guard path.utf8.starts(with: prefix.utf8) else { return false }
        return prefix.utf8.last == UInt8(ascii: "/") || path.utf8.count == prefix.utf8.count
            || path.utf8.dropFirst(prefix.utf8.count).first == UInt8(ascii: "/")
    }

    private static func hasHiddenSteps(_ path: String) -> Bool {
        let bytes = PercentCoding.bytes(of: path) ?? Array(path.utf8)
        let segments = bytes.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        return segments.contains { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
    }
}
