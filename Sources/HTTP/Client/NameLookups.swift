internal import CEvent
internal import Glibc
internal import Loop

/// Looks up names, each time anew, on threads of its own. A name that takes long has one of them at
/// most: whoever asks for it meanwhile gets what that look-up finds.
@LoopActor
final class NameLookups {
    typealias Outcome = Result<[SocketAddress], SocketAddress.LookUpError>
    typealias Listener = @LoopActor (Outcome) -> Void

    private static let threadCount = 8

    private let look: @Sendable (String) -> Outcome
    /// Who waits for names that are being looked up.
    private var listeners: [String: [Listener]] = [:]
    private let threads = FileThreads(count: NameLookups.threadCount)

    /// - Parameter look: looks up a name; it blocks.
    init(
        look: @escaping @Sendable (String) -> Outcome = {
            SocketAddress.lookUp($0, flags: AI_ADDRCONFIG)
        }
    ) {
        self.look = look
    }

    /// Looks up a name.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - listener: called once, later.
    func find(_ name: String, then listener: @escaping Listener) {
        listeners[name, default: []].append(listener)
        guard listeners[name]?.count == 1 else { return }
        threads.submit { [look] in
            look(name)
        } then: { [weak self] found in
            guard let listeners = self?.listeners.removeValue(forKey: name) else { return }
            for listener in listeners {
                if case .success(let outcome) = found { listener(outcome) }
            }
        }
    }
}
