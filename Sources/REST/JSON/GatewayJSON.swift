internal import Engine
internal import HTTP
internal import JSON
internal import Semantics
internal import TLS

/// What `GET /readyz` looks at: each condition by its name, and what is wrong where it does not
/// hold.
struct Readiness: JSONWritable {
    /// The conditions in the order in which they come to hold.
    let checks: [(name: StaticString, fault: String?)]

    /// - Parameters:
    ///   - startFault: why the gateway has not recovered, or is about to end.
    ///   - storeFault: why the store does not take down what goes on.
    ///   - diskFault: why there is no room on the disk for new work.
    init(startFault: String?, storeFault: String? = nil, diskFault: String? = nil) {
        checks = [("started", startFault), ("store", storeFault), ("disk", diskFault)]
    }

    /// What is said of a database that cannot be reached.
    static let away = "The database cannot be reached."

    /// What is said of a change that could not be noted in time.
    static let unconfirmed = """
        What was asked for may still be done when it can be noted: look before you repeat it, or \
        repeat it with the same Idempotency-Key.
        """

    /// What stands in the way; nil for a gateway that is ready.
    var fault: String? { checks.lazy.compactMap(\.fault).first }

    func write(to json: inout JSONWriter) {
        json.object { json in
            for check in checks { json.member(check.name, check.fault ?? "ok") }
        }
    }
}

extension CertificateFacts {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.array("names") { json in
                for name in names { json.string(name) }
            }
            json.member("notBefore", instant: notBefore * 1000)
            json.member("notAfter", instant: notAfter * 1000)
        }
    }
}

extension DiskFigures {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("free", free)
            json.member("total", total)
            json.member("reserve", reserve)
        }
    }
}

extension MachineFigures {
    func writeStore(to json: inout JSONWriter, _ figures: GatewayFigures) {
        json.member(
            "state",
            figures.isStoreAway
                ? "away"
                : figures.isStoreStalled ? "stalled" : figures.isDiskFull ? "diskFull" : "ok")
        json.member("databaseBytes", databaseBytes)
        json.member("logBytes", logBytes)
    }
}

extension GatewayFigures {
    /// What there is to do, and what of it waits.
    func writeWork(_ tasks: TaskCensus, to json: inout JSONWriter) {
        json.object("sessions") { json in
            for state in SessionState.allCases {
                json.member(
                    named: state.rawValue,
                    sessions.reduce(0) { $0 + ($1.key.state == state ? $1.value : 0) })
            }
        }
        json.object("tasks") { json in
            for state in TaskState.allCases {
                json.member(named: state.rawValue, tasks.count(state))
            }
        }
        json.object("waiting") { json in
            for reason in WaitReason.allCases {
                json.member(named: reason.rawValue, waiting[reason] ?? 0)
            }
        }
        json.object("attempts") { json in
            json.member("running", runningAttempts)
            json.member("waiting", waitingAttempts)
        }
        json.object("decisions") { $0.member("pending", pendingDecisions) }
        json.object("webhooks") { json in
            for state in WebhookState.allCases {
                json.member(named: state.rawValue, webhooks[state] ?? 0)
            }
        }
    }
}
