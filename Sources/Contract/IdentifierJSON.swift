internal import JSON
internal import Semantics

extension JSONWriter {
    /// Writes a member whose value is an identifier, which needs no escape, or null.
    mutating func member(_ name: StaticString, _ identifier: (some Identifier)?) {
        self.name(name)
        guard let identifier else { return null() }
        plain(capacity: type(of: identifier).textLength) { identifier.write(to: $0) }
    }

    /// Writes the member that names a session.
    ///
    /// - Parameters:
    ///   - session: the session; nil for null.
    ///   - isShared: whether it is shown as `shared` (S-4).
    mutating func member(session: SessionID?, isShared: Bool) {
        if isShared { member("session", "shared") } else { member("session", session) }
    }
}
