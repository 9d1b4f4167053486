import Glibc
import Testing

@testable import HTTP
@testable import Loop

/// Connections with servers that have several addresses.
@Suite struct ConnectorTests {
    /// Of a family that no kernel has.
    private static func unknown() throws -> SocketAddress {
        var address = try #require(try local().first)
        address.family = 99
        return address
    }

    private static func local() throws -> [SocketAddress] {
        try SocketAddress.lookUp("127.0.0.1", flags: AI_NUMERICHOST).get()
    }

    /// Connects with a server that has these addresses.
    @LoopActor
    private func connect(
        to addresses: [SocketAddress], port: UInt16
    ) async throws -> Result<CInt, Connector.Failure> {
        let origin = try #require(ServerOrigin("http://server.test:\(port)"))
        let names = NameLookups { _ in .success(addresses) }
        var connector: Connector?
        return await withCheckedContinuation { continuation in
            connector = Connector(within: .seconds(60)) { result in
                withExtendedLifetime(connector) { continuation.resume(returning: result) }
            }
            connector?.connect(to: origin, by: names)
        }
    }

    @Test func `an address of a family that the kernel lacks leaves the others to be tried`()
        async throws
    {
        try await LiveServer.run([]) { server in
            let addresses = [try Self.unknown()] + (try Self.local())
            let socket = try await connect(to: addresses, port: server.port).get()
            close(socket)
        }
    }

    @Test func `where the kernel lacks the families of all of them, it says so`() async throws {
        LoopActor.loop.start()
        let result = try await connect(to: [try Self.unknown(), try Self.unknown()], port: 1)
        let words = String(cString: strerror(EAFNOSUPPORT))
        #expect(throws: Connector.Failure.self) { try result.get() }
        if case .failure(let failure) = result { #expect(failure.words == words) }
    }
}
