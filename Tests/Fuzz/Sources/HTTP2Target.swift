import Dispatch
import Loop

@testable import HTTP

/// Frames behind a preface: whatever they are, requests that are whole are answered.
@Sendable func fuzzHTTP2(_ input: UnsafeRawBufferPointer) {
    LoopActor.loop.start()
    let bytes = Array(input)
    let done = DispatchSemaphore(value: 0)
    LoopActor.post {
        AnsweringOwner().run(bytes)
        done.signal()
    }
    done.wait()
}

/// Answers every request at once, and throws bodies away.
@LoopActor
private final class AnsweringOwner: HTTP2SessionOwner {
    private lazy var session = HTTP2Session(.server, owner: self, headerLimit: 32 << 10)
    private var heads: [Int32: StreamHead] = [:]
    private var whole: [Int32] = []
    private let limits = ServerLimits()

    func run(_ bytes: [UInt8]) {
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
        (preface + bytes).withUnsafeBytes { _ = session.receive($0) }
        for id in whole { session.submit(HTTP2Fields(status: 200), hasBody: false, of: id) }
        var sent = 1
        while sent > 0, session.produce({ sent = $0.count }) {}
    }

    func headersBegin(_ id: Int32) { heads[id] = StreamHead() }

    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of id: Int32) {
        heads[id]?.add(name, value, limits: limits)
    }

    func headersEnd(_ id: Int32, hasBody: Bool) {
        if heads[id]?.finish(hasBody: hasBody) == nil { whole.append(id) }
    }

    func data(_ bytes: UnsafeRawBufferPointer, of id: Int32) {
        session.consume(bytes.count, of: id)
    }

    func inputEnds(_ id: Int32) {}

    func received(_ frame: HTTP2Session.Frame) {}

    func headersGoOut(_ id: Int32) {}

    func offer(_ limit: Int, of id: Int32) -> (count: Int, isLast: Bool) { (0, true) }

    func take(_ count: Int, of id: Int32, _ send: (UnsafeRawBufferPointer) -> Void) {}

    func outputEnds(_ id: Int32) {}

    func peerGoesAway() {}

    func streamCloses(_ id: Int32, _ code: UInt32) {
        heads[id] = nil
        whole.removeAll { $0 == id }
    }
}
