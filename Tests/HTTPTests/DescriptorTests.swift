import Glibc
import HTTP
import Loop
import TestSupport
import Testing

/// out of file descriptors. In a process of its own, whose limit is lowered.
@Suite struct DescriptorTests {
    @Test func `X-12: without descriptors the listener rests and then goes on`() async {
        await #expect(processExitsWith: .success) {
            try await DescriptorTests.runOutOfDescriptors()
        }
    }

    private static func runOutOfDescriptors() async throws {
        LoopActor.loop.start()
        let server = try await start()
        let address = try await server.listen(on: .tcp(host: "127.0.0.1", port: 0))
        guard case .tcp(_, let port) = address else { return }
        // This request runs while everything else fails.
        let running = try connected(to: port)
        send(running, "GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
        try await eventually { await slow != nil }

        // 64 more than are open here, whatever the tests' process has left open.
        let lowest = dup(running)
        close(lowest)
        let most = rlim_t(lowest) + 64
        var limit = rlimit(rlim_cur: most, rlim_max: most)
        try require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        var clients: [CInt] = []
        while let client = try? connected(to: port) {
            clients.append(client)
            if clients.count > 200 { break }
        }
        try require(clients.count > 10)
        // The server has none left for those that wait in the backlog: it may not spin on them.
        let before = processTime()
        poll(nil, 0, 1000)
        try require(processTime() - before < .milliseconds(200))

        for client in clients { close(client) }
        let late = try connected(to: port)
        send(late, "GET /quick HTTP/1.1\r\nHost: h\r\n\r\n")
        try require(received(late).hasSuffix("quick"))
        send(running, "GET /quick HTTP/1.1\r\nHost: h\r\n\r\n")
        LoopActor.post { slow?.resume() }
        try require(received(running).contains("slow"))
    }

    private struct Unmet: Error {
        let line: Int
    }

    private static func require(_ condition: Bool, line: Int = #line) throws {
        if !condition { throw Unmet(line: line) }
    }

    /// The request that runs while there are no descriptors. It waits without libdispatch, whose
    /// timers abort the process when they find none.
    @LoopActor private static var slow: CheckedContinuation<Void, Never>?

    @LoopActor
    private static func start() throws -> Server {
        let routes = [
            Route("GET", "/quick") { _ in .text("quick") },
            Route("GET", "/slow") { _ in
                await withCheckedContinuation { slow = $0 }
                return .text("slow")
            },
        ]
        return Server(router: try Router(routes)) { _, _ in Response(status: 500) }
    }

    private static func connected(to port: UInt16) throws -> CInt {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try require(descriptor >= 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try require(result == 0)
        return descriptor
    }

    private static func send(_ descriptor: CInt, _ text: String) {
        _ = write(descriptor, text, text.utf8.count)
    }

    private static func received(_ descriptor: CInt) -> String {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    private static func processTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
