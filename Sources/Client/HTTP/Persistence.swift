internal import JSON
internal import Syntax

/// How hard a client tries where a failure may pass: a cut connection, a gateway that starts anew.
struct Persistence: Sendable {
    /// How many times in a row something may fail without any progress.
    var tries = 10
    /// The first pause between two tries; each further one is twice as long. Ten tries take a
    /// minute.
    var firstPause = Duration.milliseconds(250)
    /// The longest pause.
    var longestPause = Duration.seconds(15)
    /// How long an answer, or progress, may be waited for.
    var silence = Duration.seconds(60)
    /// How long nobody may answer who is asked how a node gets on.
    var absence = Duration.seconds(15)
    /// The same for event streams.
    var events = EventStream.Patience()

    /// The pause after so many failures in a row, 1 or more.
    func pause(after failures: Int) -> Duration {
        min(firstPause * (1 << min(max(failures - 1, 0), 20)), longestPause)
    }
}

extension GatewayClient {
    /// Does `work`, again and again while its failures may pass and the gateway was there once.
    ///
    /// - Throws: what `work` threw last; `interrupted`.
    func persistently<Value>(
        _ work: () throws(ClientError) -> Value
    ) throws(ClientError) -> Value {
        var failures = 0
        while true {
            do throws(ClientError) {
                return try work()
            } catch {
                failures += 1
                guard wasReached, error.isPassing, failures < persistence.tries, !isGatewayGone()
                else { throw error }
            }
            try pause(for: persistence.pause(after: failures))
        }
    }

    /// Creates something by POST, and gives the answer.
    ///
    /// The request has an `Idempotency-Key` (rule R-10), so that it can be sent again after a cut.
    /// Not interruptible while it is on its way: what was made and never named could not be taken
    /// away.
    /// - Throws: as `send`.
    func create(
        _ path: String, json: [UInt8]? = nil, headers: [(name: String, value: String)] = []
    ) throws(ClientError) -> JSONValue {
        let key = (name: "Idempotency-Key", value: GatewayClient.randomKey())
        return try persistently { () throws(ClientError) in
            try self.json(
                "POST", path, json: json, headers: headers + [key], interruptible: false)
        }
    }

    /// 128 random bits in hexadecimal.
    private static func randomKey() -> String {
        Hex.text(of: (0..<16).map { _ in UInt8.random(in: .min ... .max) })
    }
}
