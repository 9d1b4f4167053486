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
    ///   - hasStarted: whether the gateway has recovered, and is not about to end.
    ///   - hasRoom: whether there is room on the disk for new work.
    ///   - isStoreWell: whether the store takes down what goes on.
    ///   - isStoreAway: whether it does not because the database cannot be reached.
    init(hasStarted: Bool, hasRoom: Bool, isStoreWell: Bool, isStoreAway: Bool) {
        let storeFault = isStoreAway ? Self.away : "There is no room to note changes."
        checks = [
            ("started", hasStarted ? nil : "The gateway is starting or stopping."),
            ("store", isStoreWell ? nil : storeFault),
            ("disk", hasRoom ? nil : "The disk is full."),
        ]
    }

    /// What is said of a database that cannot be reached.
    static let away = "The database cannot be reached."

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
    func writeWork(to json: inout JSONWriter) {
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
