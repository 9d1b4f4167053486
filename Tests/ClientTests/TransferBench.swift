import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Client

/// What a test of `get` or `put` needs: a gateway, a folder, and the lines that a person would see.
struct TransferBench {
    let gateway: FakeGateway
    let folder: TemporaryDirectory
    let log: ScreenLog
    private let pressed = Presses()

    private final class Presses: Sendable {
        let count = Atomic(0)
    }

    init() throws {
        gateway = try FakeGateway()
        folder = try TemporaryDirectory()
        log = try ScreenLog()
    }

    /// Another command in the same folder, with the same gateway.
    init(_ other: TransferBench) throws {
        gateway = other.gateway
        folder = other.folder
        log = try ScreenLog()
    }

    /// Presses Ctrl-C.
    func interrupt() {
        pressed.count.add(1, ordering: .relaxed)
    }

    /// A client, with another persistence if it is changed.
    func client(
        _ change: @Sendable (inout Persistence) -> Void
    ) throws(ClientError) -> GatewayClient {
        let pressed = pressed
        // No test takes a minute: one that would wait for ever fails by an interrupt of its own.
        let end = ContinuousClock.now.advanced(by: .seconds(60))
        let client = try gateway.client(
            interrupts: Interrupts {
                pressed.count.load(ordering: .relaxed) + (ContinuousClock.now < end ? 0 : 1)
            })
        change(&client.persistence)
        return client
    }

    /// Runs `ferry get` for `a.iso` in the folder.
    func get(
        _ url: String = "http://host/a.iso", output: String? = nil,
        _ change: @escaping @Sendable (inout DownloadOrder) -> Void = { _ in },
        persistence: @escaping @Sendable (inout Persistence) -> Void = { _ in }
    ) async throws -> DownloadReceipt {
        let (bench, output) = (self, output ?? folder.file("a.iso"))
        return try await onThread { () throws(ClientError) in
            var order = DownloadOrder(url: url)
            order.output = output
            change(&order)
            let client = try bench.client(persistence)
            return try Download(order, client: client, display: bench.log.display).run()
        }
    }
}

/// A log in place of a terminal.
final class ScreenLog: Sendable {
    private let reader: Int32
    private let writer: Int32
    private let read = Mutex("")

    init() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        (reader, writer) = (ends[0], ends[1])
        _ = fcntl(reader, F_SETFL, O_NONBLOCK)
    }

    deinit {
        close(reader)
        close(writer)
    }

    /// A display on it.
    var display: ProgressDisplay {
        ProgressDisplay(on: Screen(descriptor: writer, environment: [:]))
    }

    /// The lines so far that tell something, and not how far a transfer is: a slow machine has
    /// those, too.
    var notes: [String] {
        let progress = ["a.iso: ", "http://host/a.iso: ", "staging ", "sending ", "answer: "]
        return lines.filter { line in !progress.contains { line.hasPrefix($0) } }
    }

    /// All lines so far.
    private var lines: [String] {
        read.withLock { text in
            var room = [UInt8](repeating: 0, count: 65536)
            let count = Glibc.read(reader, &room, room.count)
            text += String(decoding: room.prefix(max(0, count)), as: UTF8.self)
            return text.split(separator: "\n").map(String.init)
        }
    }
}
