/// A way to answer a request: a closure, or one of the ready-made ones.
public struct Behaviour: Sendable {
    /// Answers one exchange on the connection's thread; an error ends the connection.
    public typealias Handler = @Sendable (Exchange) throws -> Void

    /// Answers an exchange.
    public let run: Handler

    /// A behaviour of one's own.
    public init(_ handler: @escaping Handler) {
        run = handler
    }

    /// The same answer every time, with its right Content-Length, once the request is whole.
    ///
    /// What its client then has an answer to has been recorded with all of its body.
    public static func fixed(
        _ status: Int = 200, _ headers: HeaderLines = [:], _ body: String = ""
    ) -> Behaviour {
        Behaviour { exchange in
            try exchange.readWholeBody()
            try exchange.answer(status, headers, body)
        }
    }

    /// The same answer of bytes every time.
    public static func bytes(_ bytes: [UInt8], _ headers: HeaderLines = [:]) -> Behaviour {
        Behaviour { try $0.answer(200, headers, bytes) }
    }

    /// `byteCount` bytes of `Pattern`, with no validator and no ranges.
    public static func large(_ byteCount: Int, _ headers: HeaderLines = [:]) -> Behaviour {
        Behaviour { exchange in
            try exchange.head(200, headers.appending(["Content-Length": "\(byteCount)"]))
            try exchange.patternBody(count: byteCount)
        }
    }

    /// `byteCount` bytes of `Pattern` in chunks of `chunkSize`, so that the length is unknown.
    public static func chunked(_ byteCount: Int, chunkSize: Int = 16384) -> Behaviour {
        Behaviour { exchange in
            try exchange.head(200, ["Transfer-Encoding": "chunked"])
            for offset in stride(from: 0, to: byteCount, by: chunkSize) {
                let size = min(chunkSize, byteCount - offset)
                try exchange.chunk(Pattern.bytes(from: offset, count: size))
            }
            try exchange.endChunks()
        }
    }

    /// `byteCount` bytes of `Pattern` ended by the end of the connection.
    public static func closeDelimited(_ byteCount: Int) -> Behaviour {
        Behaviour { exchange in
            try exchange.head(200)
            try exchange.patternBody(count: byteCount)
        }
    }

    /// Reads the request's body and sends it back.
    public static var echo: Behaviour {
        Behaviour { exchange in
            let bytes = try exchange.readWholeBody()
            let type = exchange.request.headers["Content-Type"] ?? "application/octet-stream"
            try exchange.answer(200, ["Content-Type": type], bytes)
        }
    }

    /// Never answers; the connection stays until the peer goes or the gate opens.
    public static func stall(until gate: Gate? = nil) -> Behaviour {
        Behaviour { try $0.stall(until: gate) }
    }

    /// Sends the head and `count` bytes of `total`, and then nothing until the gate opens; with a
    /// gate the rest follows.
    public static func stall(after count: Int, of total: Int, until gate: Gate? = nil) -> Behaviour
    {
        Behaviour { exchange in
            try exchange.head(200, ["Content-Length": "\(total)"])
            try exchange.patternBody(count: count)
            try exchange.stall(until: gate)
            try exchange.patternBody(from: count, count: total - count)
        }
    }

    /// `total` bytes of `Pattern`, `step` at a time with a pause between two.
    public static func drip(_ total: Int, by step: Int, every pause: Duration) -> Behaviour {
        Behaviour { exchange in
            try exchange.head(200, ["Content-Length": "\(total)"])
            try exchange.drip(Pattern.bytes(count: total), by: step, every: pause)
        }
    }

    /// Resets the connection: before the head, or after `count` bytes of `total`.
    public static func reset(after count: Int? = nil, of total: Int = 1 << 20) -> Behaviour {
        Behaviour { exchange in
            if let count {
                try exchange.head(200, ["Content-Length": "\(total)"])
                try exchange.patternBody(count: count)
            }
            exchange.reset()
        }
    }

    /// Closes in order after `count` bytes of the `total` that Content-Length promised.
    public static func truncated(after count: Int, of total: Int) -> Behaviour {
        Behaviour { exchange in
            try exchange.head(200, ["Content-Length": "\(total)"])
            try exchange.patternBody(count: count)
        }
    }

    /// A chunked body that ends without its last chunk.
    public static func truncatedChunks(after count: Int) -> Behaviour {
        Behaviour { exchange in
            try exchange.head(200, ["Transfer-Encoding": "chunked"])
            try exchange.chunk(Pattern.bytes(count: count))
            exchange.close()
        }
    }

    /// Two Content-Lengths that differ.
    public static func conflictingLengths(_ first: Int, _ second: Int) -> Behaviour {
        Behaviour { exchange in
            let lengths: HeaderLines = [
                "Content-Length": "\(first)", "Content-Length": "\(second)",
                "Connection": "close",
            ]
            try exchange.head(200, lengths)
            try exchange.patternBody(count: max(first, second))
        }
    }

    /// A redirect to any Location, as it is.
    public static func redirect(_ status: Int = 302, to location: String) -> Behaviour {
        Behaviour { try $0.answer(status, ["Location": location], "moved") }
    }

    /// A redirect to the path itself with a counter as query, for ever.
    public static func redirectLoop(_ status: Int = 302) -> Behaviour {
        Behaviour { exchange in
            let next = "\(exchange.request.path)?\(exchange.request.attempt)"
            try exchange.answer(status, ["Location": next])
        }
    }

    /// An answer with `count` header fields of about `valueSize` bytes each.
    public static func manyHeaders(_ count: Int = 20_000, valueSize: Int = 8) -> Behaviour {
        Behaviour { exchange in
            var headers = HeaderLines()
            let value = String(repeating: "v", count: valueSize)
            for number in 0..<count { headers.append("X-Field-\(number)", value) }
            try exchange.answer(200, headers, "body")
        }
    }

    /// The head comes one line at a time.
    public static func slowHead(_ headers: HeaderLines, every pause: Duration) -> Behaviour {
        Behaviour { exchange in
            let all = headers.appending(["Content-Length": "2"])
            try exchange.slowHead(200, all, every: pause)
            try exchange.body("ok")
        }
    }

    /// 1xx answers, each with its headers, before a plain 200.
    public static func informational(_ answers: [(status: Int, headers: HeaderLines)]) -> Behaviour
    {
        Behaviour { exchange in
            for answer in answers { try exchange.informational(answer.status, answer.headers) }
            try exchange.answer(200, [:], "ok")
        }
    }

    /// One behaviour after the other, by attempt; the last one stays.
    public static func inTurn(_ behaviours: Behaviour...) -> Behaviour {
        Behaviour { exchange in
            let index = min(exchange.request.attempt, behaviours.count) - 1
            if behaviours.indices.contains(index) { try behaviours[index].run(exchange) }
        }
    }
}
