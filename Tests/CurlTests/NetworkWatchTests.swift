@testable import Curl
import Foundation
import Glibc
import Loop
import Semantics
import TestSupport
import Testing

/// S-26: when the machine's ways to others may have changed, and where they lead.
@Suite(.serialized) struct NetworkWatches {
    init() { TestLoop.start() }

    /// What stands in for the kernel: datagrams.
    private struct Line {
        let watched: CInt
        let peer: CInt

        init() throws {
            let type = CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
            var ends: [CInt] = [-1, -1]
            try #require(socketpair(AF_UNIX, type | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
            (watched, peer) = (ends[0], ends[1])
        }

        func tell(_ count: Int) {
            for _ in 0..<count { #expect(send(peer, "change", 6, CInt(MSG_NOSIGNAL)) == 6) }
        }
    }

    @LoopActor
    private final class Count {
        var value = 0
        var watch: NetworkWatch?

        init(_ watch: NetworkWatch?) {
            self.watch = watch
            watch?.onChange = { [unowned self] in value += 1 }
        }
    }

    @LoopActor
    @Test func `a burst of changes is told once, and the next one again`() async throws {
        let line = try Line()
        defer { close(line.peer) }
        let count = Count(NetworkWatch(owning: line.watched, delay: .milliseconds(300)))
        // In one turn of the loop, more than one drain takes.
        line.tell(100)
        try await eventually { count.value > 0 }
        line.tell(1)
        try await eventually { count.value > 1 }
        #expect(count.value == 2)
    }

    @LoopActor
    @Test func `what is released is silent, and its socket is closed`() async throws {
        let line = try Line()
        defer { close(line.peer) }
        let count = Count(NetworkWatch(owning: line.watched, delay: .zero))
        line.tell(1)
        count.watch = nil
        var byte: UInt8 = 0
        try await eventually { recv(line.peer, &byte, 1, 0) == 0 || errno == ECONNRESET }
        #expect(count.value == 0)
    }

    @LoopActor
    @Test func `the machine's own watch hears of links, addresses and routes`() throws {
        // proc_net(5): the columns are sk, Eth, Pid, Groups…, Inode; Eth 0 is NETLINK_ROUTE. Other
        // processes may have such sockets, too.
        func rows() throws -> Int {
            let (folder, files) = ("/proc/self/fd", FileManager.default)
            let own = try files.contentsOfDirectory(atPath: folder).compactMap {
                try? files.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
            }
            return try String(contentsOfFile: "/proc/net/netlink", encoding: .utf8)
                .split(separator: "\n")
                .filter { line in
                    let columns = line.split(separator: " ")
                    return columns[1] == "0" && columns[3] == "00000551"
                        && own.contains("socket:[\(columns[columns.count - 1])]")
                }.count
        }
        let before = try rows()
        var watch = NetworkWatch()
        #expect(watch != nil)
        #expect(try rows() == before + 1)
        watch = nil
        #expect(try rows() == before)
    }

    @Test func `of several addresses that were tried, one with a way is enough`() {
        let (here, mapped) = (IPAddress.v4(0x7f00_0001), IPAddress.v6(0xffff_7f00_0001))
        #expect(RouteProbe.hasRoute(toOneOf: []) == nil)
        #expect(RouteProbe.hasRoute(toOneOf: [here]) == nil)
        #expect(RouteProbe.hasRoute(toOneOf: [mapped, here]) == true)
    }

    @Test func `the internet is where the probe looks for it, and not where routes may be odd`() {
        #expect(RouteProbe.farAway.map(\.bitCount) == [32, 128])
        for address in RouteProbe.farAway {
            // Neither private nor for documentation, nor anything else of its own.
            #expect(EgressPolicy().permits(address: address, port: 443), "\(address)")
        }
        #expect(RouteProbe.farAway.map(\.description) == ["198.41.0.4", "2001:503:ba3e::2:30"])
    }

    @LoopActor
    @Test(arguments: [
        (EAI_NONAME, true, false), (-5, true, false), (EAI_AGAIN, false, true),
        (EAI_FAIL, false, true), (EAI_SYSTEM, false, true),
    ])
    func `a resolver's no is an answer, and is not waited out`(
        code: CInt, isAnswer: Bool, isLackOfRoute: Bool
    ) {
        #expect(SocketAddress.LookUpError(code: code).isAnswer == isAnswer)
        let failure = AddressBook.Failure(words: "no", isAnswer: isAnswer)
        let url = WebURL(
            string: "http://a.example/", scheme: "http", host: "a.example", port: 80, path: "/")
        for hasWayOut in [false, true] {
            let error = AttemptOutcome.error(
                ofLookingUp: "a.example", failure, at: url, hasWayOut: hasWayOut)
            #expect(error.isLackOfRoute == (isLackOfRoute && !hasWayOut))
            #expect(error.underlying?.message == "no")
        }
    }

    // MARK: In a network of its own

    private static let hasNamespaces: @Sendable () async throws -> Bool = {
        try await Namespace() != nil
    }

    @LoopActor
    @Test(.enabled("this machine has namespaces for all", hasNamespaces))
    func `interfaces that come and go are told`() async throws {
        let network = try #require(try await Namespace())
        let count = Count(
            NetworkWatch(owning: try network.routeSocket(), delay: .milliseconds(10)))
        for turn in 1...4 {
            let before = count.value
            try network.setLoopback(isUp: turn % 2 == 1)
            try await eventually { count.value > before }
        }
    }

    @LoopActor
    @Test(.enabled("this machine has namespaces for all", hasNamespaces))
    func `more changes than there is room for are a change, and more are heard`() async throws {
        let network = try #require(try await Namespace())
        let (watched, twin) = (try network.routeSocket(), try network.routeSocket())
        defer { close(twin) }
        try network.setLoopback(isUp: true, times: 101)
        var byte: UInt8 = 0
        try #require(recv(twin, &byte, 1, 0) < 0 && errno == ENOBUFS)
        let count = Count(NetworkWatch(owning: watched, delay: .milliseconds(10)))
        try await eventually { count.value > 0 }
        let before = count.value
        try network.setLoopback(isUp: false)
        try await eventually { count.value > before }
    }

    @LoopActor
    @Test(.enabled("this machine has namespaces for all", hasNamespaces))
    func `the routing table is asked, and nothing is sent`() async throws {
        let network = try #require(try await Namespace())
        let sockets = (try network.socket(version: 4), try network.socket(version: 6))
        defer { [sockets.0, sockets.1].forEach { close($0) } }
        let loopback = (IPAddress.v4(0x7f00_0001), IPAddress.v6(1))
        let farAway = (IPAddress.v4(0xcb00_7101), IPAddress.v6(0x2001_0db8 << 96 | 1))
        for isUp in [false, true] {
            try network.setLoopback(isUp: isUp)
            #expect(RouteProbe.hasRoute(to: loopback.0, for: sockets.0) == isUp)
            #expect(RouteProbe.hasRoute(to: loopback.1, for: sockets.1) == isUp)
            #expect(!RouteProbe.hasRoute(to: farAway.0, for: sockets.0))
            #expect(!RouteProbe.hasRoute(to: farAway.1, for: sockets.1))
        }
        #expect(RouteProbe.hasRoute(to: loopback.0))
    }
}
