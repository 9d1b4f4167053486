internal import Synchronization

/// The gateway of a command; where it is private to the user, another one in its place should it
/// end. Any thread may use it.
public final class GatewaySource: Sendable {
    private let state: Mutex<State>
    private let program: String
    private let environment: [String: String]
    private let interrupts: Interrupts

    private struct State {
        var gateway: RemoteGateway
        var own: PrivateGateway?
        /// How many have ended.
        var losses = 0
    }

    /// How many private gateways may end before there must be something wrong with them.
    private static let mostLosses = 5

    /// A gateway that was named, or that runs here.
    public init(_ gateway: RemoteGateway) {
        state = Mutex(State(gateway: gateway))
        (program, environment, interrupts) = ("", [:], .none)
    }

    /// A private gateway; `program` is what it is a process of.
    ///
    /// - Throws: as `PrivateGateway.join`.
    public init(
        private program: String, environment: [String: String], interrupts: Interrupts
    ) throws(ClientError) {
        let own = try PrivateGateway.join(
            program: program, environment: environment, interrupts: interrupts)
        state = Mutex(State(gateway: own.gateway, own: own))
        self.program = program
        self.environment = environment
        self.interrupts = interrupts
    }

    /// The gateway to talk to now.
    public var gateway: RemoteGateway { state.withLock(\.gateway) }

    /// A client of it.
    func client(_ interrupts: Interrupts) -> GatewayClient {
        let (gateway, own) = state.withLock { ($0.gateway, $0.own) }
        let client = GatewayClient(gateway, interrupts: interrupts)
        if let own { client.isGatewayGone = { !own.isServed } }
        return client
    }

    /// Puts another private gateway in the place of one that has ended; what it knew is kept.
    ///
    /// - Returns: whether there is another one than `lost` now.
    /// - Throws: as `PrivateGateway.join`.
    func replace(_ lost: RemoteGateway) throws(ClientError) -> Bool {
        try state.withLock { (state) throws(ClientError) in
            // Another transfer of the command has noticed it before.
            guard state.gateway == lost else { return true }
            guard let own = state.own, !own.isServed, state.losses < GatewaySource.mostLosses else {
                return false
            }
            state.losses += 1
            let other = try PrivateGateway.join(
                program: program, environment: environment, interrupts: interrupts)
            own.end()
            state.own = other
            state.gateway = other.gateway
            return true
        }
    }

    /// Lets go of a private gateway.
    public func end() {
        state.withLock { $0.own }?.end()
    }
}
