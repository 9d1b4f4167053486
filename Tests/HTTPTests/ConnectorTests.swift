import Glibc
import Loop
import Testing

@testable import HTTP

/// Connections with servers that have several addresses.
@Suite struct ConnectorTests {
    /// Of a family that no kernel has.
    private static let unknown = SocketAddress(
        storage: sockaddr_storage(), length: socklen_t(MemoryLayout<sockaddr_in>.size), family: 99)

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
            let local = try SocketAddress.look(up: "127.0.0.1", isNumber: true).get()
            let socket = try await connect(to: [Self.unknown] + local, port: server.port).get()
            close(socket)
        }
    }

    @Test func `where the kernel lacks the families of all of them, it says so`() async throws {
        LoopActor.loop.start()
        let result = try await connect(to: [Self.unknown, Self.unknown], port: 1)
        let words = String(cString: strerror(EAFNOSUPPORT))
        #expect(throws: Connector.Failure.self) { try result.get() }
        if case .failure(let failure) = result { #expect(failure.words == words) }
    }
}
