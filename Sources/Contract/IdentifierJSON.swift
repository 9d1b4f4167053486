internal import JSON
internal import Semantics

extension JSONWriter {
    /// Writes a member whose value is an identifier, which needs no escape, or null.
    mutating func member(_ name: StaticString, _ identifier: (some Identifier)?) {
        self.name(name)
        guard let identifier else { return null() }
        plain(capacity: type(of: identifier).textLength) { identifier.write(to: $0) }
    }

    /// Writes a member whose value is a path: an identifier, and what stands before and behind it,
    /// of which nothing needs an escape; or null.
    mutating func member(
        _ name: StaticString, path before: StaticString, _ identifier: (some Identifier)?,
        _ behind: StaticString = ""
    ) {
        self.name(name)
        guard let identifier else { return null() }
        let (begin, length) = (before.utf8CodeUnitCount, type(of: identifier).textLength)
        plain(capacity: begin + length + behind.utf8CodeUnitCount) { room in
            before.withUTF8Buffer { _ = room.update(fromContentsOf: $0) }
            _ = identifier.write(to: .init(rebasing: room[begin..<begin + length]))
            behind.withUTF8Buffer {
                _ = room[(begin + length)...].update(fromContentsOf: $0)
            }
            return room.count
        }
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
