import HTTP
import Loop
import TestSupport
import Testing

/// Event streams: S-8, S-59, R-7, R-8.
@Suite struct EventStreamTests {
    private func numbers(_ events: [ServerEvent]) -> [Int] {
        events.compactMap { $0.id.flatMap { Int($0.dropFirst(2)) } }
    }

    private func live(
        byteLimit: Int = 256 << 10, limits: ServerLimits = ServerLimits(),
        _ body: (LiveServer, EventFeed) async throws -> Void
    ) async throws {
        LoopActor.loop.start()
        let feed = await EventFeed(byteLimit: byteLimit)
        try await LiveServer.run(feed.routes, limits: limits) { live in try await body(live, feed) }
    }

    @Test func `A stream begins at once with its header and the time to come back`() async throws {
        try await live { live, feed in
            let connection = try await live.client.connect()
            try await connection.send("GET /live HTTP/1.1\r\nHost: h\r\n\r\n")
            let head = try await connection.head()
            #expect(head.headers["Content-Type"] == "text/event-stream")
            #expect(head.headers["Cache-Control"] == "no-store")
            #expect(head.headers["X-Accel-Buffering"] == "no")
            #expect(head.headers["Ferry-Last-Event-ID"] == "1.0")
            let first = "c\r\nretry: 2000\n\r\n"
            #expect(try await connection.bytes(first.utf8.count) == Array(first.utf8))
        }
    }

    @Test func `Events of one turn go out in one piece, in the form of the standard`() async throws
    {
        try await live { live, feed in
            let connection = try await live.client.connect()
            try await connection.send("GET /live HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try await connection.head()
            _ = try await connection.bytes(17)
            try await eventually { await feed.log.readerCount == 1 }
            await Swift.Task { @LoopActor in
                feed.publish("task.didCreate")
                feed.progress(5)
                feed.publish("task.didComplete")
            }.value
            let text =
                "id: 1.1\nevent: task.didCreate\ndata: {\"n\":1}\n\n"
                + "event: progress\ndata: {\"v\":5}\n\n"
                + "id: 1.2\nevent: task.didComplete\ndata: {\"n\":2}\n\n"
            let chunk = "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
            let received = try await connection.bytes(chunk.utf8.count)
            #expect(String(decoding: received, as: UTF8.self) == chunk)
        }
    }

    @Test func `An opening goes out before everything else`() async throws {
        try await live { live, feed in
            let stream = try await live.client.events("/opened")
            #expect(try await stream.next().event == "reset")
            #expect(stream.retry == 2000)
            await feed.publish()
            #expect(try await stream.next().id == "1.1")
        }
    }

    @Test func `HTTP/1.0 gets a stream without chunks`() async throws {
        try await live { live, feed in
            let connection = try await live.client.connect()
            try await connection.send("GET /live HTTP/1.0\r\n\r\n")
            try await eventually { await feed.log.readerCount == 1 }
            await feed.publish()
            await feed.log.finish()
            let text = String(decoding: try await connection.bytesToTheEnd(), as: UTF8.self)
            #expect(
                text.hasSuffix(
                    "\r\n\r\nretry: 2000\nid: 1.1\nevent: numbered\ndata: {\"n\":1}\n\n"))
        }
    }

    @Test func `X-8: what could end a field becomes a space`() {
        var bytes: [UInt8] = []
        EncodedEvent.format(
            id: "1\nevent: x", name: "a\rb", data: Array("{}\n\nid: 9\u{0}".utf8), onto: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "id: 1 event: x\nevent: a b\ndata: {}  id: 9 \n\n")
    }

    @Test func `R-8: a reader that comes back at any index misses nothing and sees nothing twice`()
        async throws
    {
        // The log holds about ten events, the rest is in the history: both sides of every seam.
        try await live(byteLimit: 512) { live, feed in
            let count = 80
            for number in 1...count {
                await feed.publish()
                if number.isMultiple(of: 3) { await feed.progress(number) }
            }
            for after in 0...count {
                let stream = try await live.client.events("/after/\(after)")
                await feed.publish()
                let newest = Int(await feed.log.lastPosition)
                let events = try await stream.collect { $0.id == "1.\(newest)" }
                #expect(numbers(events) == Array((after + 1)...newest))
                stream.close()
            }
            #expect(await feed.pages > count / 2)
        }
    }

    @Test func `R-8: events that are published during a replay follow it in order`() async throws {
        try await live(byteLimit: 2048) { live, feed in
            for _ in 1...1000 { await feed.publish() }
            let streams = try await [0, 1, 500, 999, 1000].asyncMap {
                ($0, try await live.client.events("/after/\($0)"))
            }
            for _ in 1...1000 { await feed.publish() }
            for (after, stream) in streams {
                let events = try await stream.collect { $0.id == "1.2000" }
                #expect(numbers(events) == Array((after + 1)...2000))
            }
        }
    }

    @Test func `S-59: a reader that lags gets the newest progress, and every numbered event`()
        async throws
    {
        try await live(byteLimit: 64 << 20) { live, feed in
            let connection = try await live.client.connect(receiveBuffer: 256 << 10)
            try await connection.send("GET /live HTTP/1.0\r\n\r\n")
            try await eventually { await feed.log.readerCount == 1 }
            // More than the kernel's buffers hold.
            let count = 10_000
            await feed.publishMany(1...count) { feed, value in
                feed.progress(value, key: Int64(value % 2), padding: 1000)
                if value.isMultiple(of: 100) { feed.publish() }
            }
            await feed.log.finish()
            let text = String(
                decoding: try await connection.bytesToTheEnd(within: .seconds(60)), as: UTF8.self)
            let lines = text.split(separator: "\n")
            #expect(
                lines.filter { $0.hasPrefix("id: ") } == (1...(count / 100)).map { "id: 1.\($0)" })
            let progress = lines.filter { $0.hasPrefix("data: {\"v\":") }
            #expect(progress.count < count * 3 / 4)
            #expect(progress.suffix(2).map { $0.contains("\(count - 1) ") } == [true, false])
            #expect(progress.last?.contains("\(count) ") == true)
        }
    }

    @Test func `R-7: a reader that falls behind the log is fed from the history`() async throws {
        try await live(byteLimit: 16 << 10) { live, feed in
            let connection = try await live.client.connect(receiveBuffer: 256 << 10)
            try await connection.send("GET /live HTTP/1.0\r\n\r\n")
            try await eventually { await feed.log.readerCount == 1 }
            let count = 10_000
            await feed.publishMany(1...count) { feed, number in
                feed.publish(padding: 1000)
                if number.isMultiple(of: 10) { feed.progress(number) }
            }
            await feed.log.finish()
            let text = String(
                decoding: try await connection.bytesToTheEnd(within: .seconds(60)), as: UTF8.self)
            let ids = text.split(separator: "\n").filter { $0.hasPrefix("id: ") }
            #expect(ids == (1...count).map { "id: 1.\($0)" })
            #expect(await feed.pages > 1)
        }
    }

    @Test func `R-7: a reader without a history that falls behind is cut`() async throws {
        try await live(byteLimit: 16 << 10) { live, feed in
            let connection = try await live.client.connect(receiveBuffer: 256 << 10)
            try await connection.send("GET /forgetful HTTP/1.1\r\nHost: h\r\n\r\n")
            try await eventually { await feed.log.readerCount == 1 }
            await feed.publishMany(1...8000) { feed, _ in feed.publish(padding: 1000) }
            let bytes = try await connection.bytesToTheEnd(within: .seconds(60))
            #expect(!bytes.suffix(5).elementsEqual("0\r\n\r\n".utf8))
            try await eventually { await feed.log.readerCount == 0 }
        }
    }

    @Test func `A history that fails cuts the stream, so that its client comes back`() async throws
    {
        try await live(byteLimit: 256) { live, feed in
            for _ in 1...50 { await feed.publish() }
            await Swift.Task { @LoopActor in feed.isBroken = true }.value
            let stream = try await live.client.events("/after/1")
            try await stream.waitForEnd()
            #expect(!stream.endedProperly)
            try await eventually { await live.server.connectionCount == 0 }
        }
    }

    @Test func `R-7: stuck readers cost little and hold up nobody`() async throws {
        try await live { live, feed in
            var stuck: [TestConnection] = []
            for _ in 0..<50 {
                let connection = try await live.client.connect(receiveBuffer: 4096)
                try await connection.send("GET /live HTTP/1.1\r\nHost: h\r\n\r\n")
                stuck.append(connection)
            }
            let fast = try await live.client.events("/live")
            try await eventually { await feed.log.readerCount == 51 }
            let count = 6000
            await feed.publishMany(1...count) { feed, _ in feed.publish(padding: 1000) }
            let events = try await fast.collect { $0.id == "1.\(count)" }
            #expect(numbers(events) == Array(1...count))
            let largest = await live.server.largestQueue
            #expect(largest > 0)
            #expect(largest <= 256 << 10)
            withExtendedLifetime(stuck) {}
        }
    }

    @Test func `R-7: more readers than one turn sends to have every event once, in order`()
        async throws
    {
        try await live { live, feed in
            var readers: [TestConnection] = []
            for _ in 0..<300 {
                let connection = try await live.client.connect()
                try await connection.send("GET /live HTTP/1.0\r\n\r\n")
                readers.append(connection)
            }
            try await eventually { await feed.log.readerCount == 300 }
            // Events come between the slices of a round, and readers go meanwhile.
            await feed.publishMany(1...60) { feed, _ in feed.publish() }
            for reader in readers[..<50] { reader.close() }
            await feed.publishMany(61...120) { feed, _ in feed.publish() }
            await feed.log.finish()
            for reader in readers[50...] {
                let text = String(decoding: try await reader.bytesToTheEnd(), as: UTF8.self)
                let ids = text.split(separator: "\n").filter { $0.hasPrefix("id: ") }
                #expect(ids == (1...120).map { "id: 1.\($0)" })
            }
        }
    }

    @Test func `A reader that takes nothing is closed`() async throws {
        var limits = ServerLimits()
        limits.stalledAnswer = .seconds(2)
        try await live(limits: limits) { live, feed in
            let connection = try await live.client.connect(receiveBuffer: 4096)
            try await connection.send("GET /live HTTP/1.1\r\nHost: h\r\n\r\n")
            let fast = try await live.client.events("/live")
            try await eventually { await feed.log.readerCount == 2 }
            await feed.publishMany(1...6000) { feed, _ in feed.publish(padding: 1000) }
            try await eventually { await feed.log.readerCount == 1 }
            await feed.publish("last")
            try await fast.collect(until: "last")
            withExtendedLifetime(connection) {}
        }
    }

    @Test func `A comment is sent into the silence`() async throws {
        var limits = ServerLimits()
        limits.eventHeartbeat = .milliseconds(100)
        try await live(limits: limits) { live, feed in
            let stream = try await live.client.events("/live")
            try await eventually { stream.comments.count >= 3 }
            #expect(stream.events.isEmpty)
            await feed.publish()
            #expect(try await stream.next().id == "1.1")
        }
    }

    @Test func `A finished log ends its streams after the last event, for late readers too`()
        async throws
    {
        try await live { live, feed in
            let early = try await live.client.events("/live")
            try await eventually { await feed.log.readerCount == 1 }
            await Swift.Task { @LoopActor in
                feed.publish()
                feed.publish("terminal")
                feed.log.finish()
            }.value
            #expect(try await early.waitForEnd().map(\.event) == ["numbered", "terminal"])
            #expect(early.endedProperly)
            let late = try await live.client.events("/after/1")
            #expect(try await late.waitForEnd().map(\.event) == ["terminal"])
            #expect(late.endedProperly)
            #expect(await feed.log.readerCount == 0)
        }
    }

    @Test func `The owner of a log learns that its last reader has gone`() async throws {
        let calls = Calls()
        try await live { live, feed in
            await Swift.Task { @LoopActor in
                feed.log.onLastReaderGone = { calls.count("gone") }
            }.value
            let first = try await live.client.events("/live")
            let second = try await live.client.events("/live")
            try await eventually { await feed.log.readerCount == 2 }
            first.close()
            try await eventually { await feed.log.readerCount == 1 }
            #expect(calls["gone"] == 0)
            second.close()
            try await eventually { calls["gone"] == 1 }
        }
    }

    @Test func `The owner of a log learns that nobody reads it after a HEAD`() async throws {
        let calls = Calls()
        try await live { live, feed in
            await Swift.Task { @LoopActor in
                feed.log.onLastReaderGone = { calls.count("gone") }
            }.value
            #expect(try await live.client.send("HEAD", "/live").status == 200)
            // The answer is on its way before its stream is let go.
            try await eventually { calls["gone"] == 1 }
            let reader = try await live.client.events("/live")
            try await eventually { await feed.log.readerCount == 1 }
            #expect(try await live.client.send("HEAD", "/live").status == 200)
            #expect(calls["gone"] == 1)
            reader.close()
        }
    }

    @Test func `A connection can be used again after a stream has ended`() async throws {
        try await live { live, feed in
            await feed.publish("terminal")
            await feed.log.finish()
            let connection = try await live.client.connect()
            for _ in 0..<2 {
                try await connection.send("GET /after/0 HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await connection.response().text.hasSuffix("data: {\"n\":1}\n\n"))
            }
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<T>(_ body: (Element) async throws -> T) async rethrows -> [T] {
        var results: [T] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
