internal import Engine
internal import Loop
internal import Semantics

/// The egress policy at the places where a transfer meets it, and what of it is left to the
/// tenant.
///
/// The last answers are kept, since most attempts go where the attempt before went.
@LoopActor
final class EgressGate {
    /// May be set while connections are open: each request is judged by the policy of its time.
    var policy: EgressPolicy {
        didSet {
            lastHost = nil
            lastAddress = nil
        }
    }
    private let tenant: TenantEgress?
    private var lastHost: Place?
    private var lastAddress: Place?

    private struct Place: Equatable {
        let text: String
        let port: Int
    }

    init(_ policy: EgressPolicy, of tenant: TenantEgress? = nil) {
        self.policy = policy
        self.tenant = tenant
    }

    /// Asked each time: it may have been changed since the last answer.
    private func leaves(host: String) -> Bool { tenant?.narrowing.permits(host: host) ?? true }

    private func leaves(_ address: IPAddress, port: Int) -> Bool {
        tenant?.narrowing.permits(address: address, port: port) ?? true
    }

    /// Before any resolution: whether the host may be looked up and connected to.
    func mayResolve(host: String, port: Int) -> Bool {
        guard leaves(host: host) else { return false }
        let place = Place(text: host, port: port)
        if place == lastHost { return true }
        guard policy.verdict(onHost: host, port: port) != .denied else { return false }
        lastHost = place
        return true
    }

    /// Before a socket is made.
    func mayMake(_ wanted: WantedSocket) -> Bool {
        policy.permits(address: wanted.ip, port: wanted.port)
            && leaves(wanted.ip, port: wanted.port)
    }

    /// Before a proxy is asked to connect there.
    func mayTell(_ address: IPAddress, port: Int) -> Bool {
        policy.permits(address: address, port: port) && leaves(address, port: port)
    }

    /// Before a request goes out, on a new connection or on one that was kept.
    func mayRequest(address: String, port: Int) -> Bool {
        let place = Place(text: address, port: port)
        if tenant?.narrowing.isEmpty ?? true, place == lastAddress { return true }
        guard let ip = IPAddress(address), leaves(ip, port: port),
            policy.permits(address: ip, port: port)
        else {
            return false
        }
        lastAddress = place
        return true
    }
}
