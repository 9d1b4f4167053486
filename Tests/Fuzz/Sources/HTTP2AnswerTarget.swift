import Dispatch
import Loop

@testable import HTTP

/// Frames of a server: whatever they are, requests are asked.
@Sendable func fuzzHTTP2Answers(_ input: UnsafeRawBufferPointer) {
    LoopActor.loop.start()
    let bytes = Array(input)
    let done = DispatchSemaphore(value: 0)
    LoopActor.post {
        AskingOwner().run(bytes)
        done.signal()
    }
    done.wait()
}

/// Has three requests under way, one of them with a body, and throws answers away.
@LoopActor
private final class AskingOwner: HTTP2SessionOwner {
    private lazy var session = HTTP2Session(.client, owner: self, headerLimit: 32 << 10)
    private var heads: [Int32: IncomingHeadReader] = [:]
    private var output = StreamOutput()
    private let limits = ClientLimits()

    func run(_ bytes: [UInt8]) {
        guard let origin = ServerOrigin("http://h") else { return }
        output.begin(with: Array("body".utf8), isWhole: true)
        let (method, target) = (Array("GET".utf8), Array("/".utf8))
        let fields = method.withUnsafeBytes { method in
            target.withUnsafeBytes { HTTP2Fields(method: method, target: $0, to: origin) }
        }
        for hasBody in [false, true, false] {
            _ = session.submitRequest(fields, hasBody: hasBody)
        }
        send()
        ([0, 0, 0, 4, 0, 0, 0, 0, 0] + bytes).withUnsafeBytes { _ = session.receive($0) }
        session.ping()
        send()
    }

    private func send() {
        var sent = 1
        while sent > 0, session.produce({ sent = $0.count }) {}
    }

    func headersBegin(_ id: Int32) { heads[id] = IncomingHeadReader() }

    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of id: Int32) {
        heads[id]?.add(name, value, limits: limits)
    }

    func headersEnd(_ id: Int32, hasBody: Bool) { _ = heads[id]?.finished }

    func data(_ bytes: UnsafeRawBufferPointer, of id: Int32) {
        session.consume(bytes.count, of: id)
    }

    func inputEnds(_ id: Int32) {}

    func received(_ frame: HTTP2Session.Frame) {}

    func headersGoOut(_ id: Int32) {}

    func offer(_ limit: Int, of id: Int32) -> (count: Int, isLast: Bool) { output.offer(limit) }

    func take(_ count: Int, of id: Int32, _ send: (UnsafeRawBufferPointer) -> Void) {
        output.take(count, send)
    }

    func outputEnds(_ id: Int32) {}

    func peerGoesAway() {}

    func streamCloses(_ id: Int32, _ code: UInt32) { heads[id] = nil }
}
