import TestSupport
import Testing

/// One gateway for all tests of a suite, which keep apart by their sessions.
///
/// `RunningGateway.shared` is that gateway while a test of the suite runs.
struct SharedGateway: SuiteTrait, TestScoping {
    @TaskLocal fileprivate static var current: RunningGateway?

    var options = RunningGateway.Options()

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Permits.suites.use {
            let gateway = try await RunningGateway(options)
            try await SharedGateway.$current.withValue(gateway) { try await function() }
        }
    }
}

extension Trait where Self == SharedGateway {
    /// A gateway with the default options.
    static var sharedGateway: SharedGateway { SharedGateway() }

    /// A gateway with further arguments of `ferry serve`.
    static func sharedGateway(_ arguments: String...) -> SharedGateway {
        var shared = SharedGateway()
        shared.options.arguments = arguments
        return shared
    }
}

extension RunningGateway {
    /// The gateway of the suite that the running test belongs to.
    static var shared: RunningGateway {
        get throws { try #require(SharedGateway.current, "the suite has no shared gateway") }
    }

    /// Runs `body` with a gateway of its own, when there is room for one more.
    static func alone<Result: Sendable>(
        _ options: Options = Options(), _ body: (RunningGateway) async throws -> Result
    ) async throws -> Result {
        try await Permits.gateways.use { try await body(RunningGateway(options)) }
    }
}

/// Room for a few at a time: more processes than this only make each other slow.
actor Permits {
    /// Suites that share a gateway each.
    static let suites = Permits(3)
    /// Gateways of single tests. Apart from the others, since a test of such a suite may need one.
    static let gateways = Permits(3)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    /// Runs `body` with a permit.
    nonisolated func use<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        await take()
        do {
            let result = try await body()
            await giveBack()
            return result
        } catch {
            await giveBack()
            throw error
        }
    }

    private func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func giveBack() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
