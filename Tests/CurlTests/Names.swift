@testable import Curl
import Dispatch
import Semantics
import Synchronization

/// A resolver that knows what its test says, and keeps what it was asked.
final class Names: Sendable {
    private let known: [String: [IPAddress]]
    private let questions = Mutex<[String]>([])
    private let gate: DispatchSemaphore?

    /// A resolver of these names; one that is held answers once it is let go.
    init(_ known: [String: [IPAddress]] = [:], isHeld: Bool = false) {
        self.known = known
        gate = isHeld ? DispatchSemaphore(value: 0) : nil
    }

    /// The names that it was asked for.
    var asked: [String] { questions.withLock(\.self) }

    /// Answers one question that is held.
    func letGo() { gate?.signal() }

    var resolver: AddressBook.Resolver {
        { [self] name in
            questions.withLock { $0.append(name) }
            gate?.wait()
            guard let addresses = known[name] else {
                return .failure(AddressBook.Failure(words: "not in the book"))
            }
            return .success(addresses)
        }
    }
}

extension Network {
    /// A network whose SOCKS proxies get the addresses that `names` knows.
    convenience init(_ names: Names, egress: EgressPolicy = .loopback) {
        self.init(egress: egress, asking: names.resolver)
    }
}
