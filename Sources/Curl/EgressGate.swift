internal import Semantics

/// The egress policy at the places where a transfer meets it.
///
/// The last answers are kept, since most attempts go where the attempt before went.
final class EgressGate {
    /// May be set while connections are open: each request is judged by the policy of its time.
    var policy: EgressPolicy {
        didSet {
            lastHost = nil
            lastAddress = nil
        }
    }
    private var lastHost: Place?
    private var lastAddress: Place?

    private struct Place: Equatable {
        let text: String
        let port: Int
    }

    init(_ policy: EgressPolicy) {
        self.policy = policy
    }

    /// Before any resolution: whether the host may be looked up and connected to.
    func mayResolve(host: String, port: Int) -> Bool {
        let place = Place(text: host, port: port)
        if place == lastHost { return true }
        guard policy.verdict(onHost: host, port: port) != .denied else { return false }
        lastHost = place
        return true
    }

    /// Before a socket is made.
    func mayConnect(to address: SocketAddress) -> Bool {
        policy.permits(address: address.ip, port: address.port)
    }

    /// Before a proxy is asked to connect there.
    func mayTell(_ address: IPAddress, port: Int) -> Bool {
        policy.permits(address: address, port: port)
    }

    /// Before a request goes out, on a new connection or on one that was kept.
    func mayRequest(address: String, port: Int) -> Bool {
        let place = Place(text: address, port: port)
        if place == lastAddress { return true }
        guard let ip = IPAddress(address), policy.permits(address: ip, port: port) else {
            return false
        }
        lastAddress = place
        return true
    }
}
