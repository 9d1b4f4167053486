package import JSON
package import Semantics

extension WebhookRecord {
    /// The members of a webhook as it is shown (`Webhook` of openapi.yaml).
    ///
    /// - Parameters:
    ///   - json: inside of the object.
    ///   - showsSecret: whether the secret is told: once, to whoever has made it.
    ///   - sharedSession: whether its session is shown as `shared` (S-4).
    package func writeMembers(
        to json: inout JSONWriter, showsSecret: Bool, sharedSession: Bool
    ) {
        json.member("id", id)
        json.member("url", url.string)
        json.array("events") { json in
            switch events {
            case .all: json.string("*")
            case .some(let names): for name in names { json.string(name) }
            }
        }
        json.member(session: session, isShared: sharedSession)
        json.member("description", description)
        json.member("state", state.rawValue)
        json.member("disabledReason", disabledReason?.rawValue)
        json.member("createdAt", instant: createdAt.milliseconds)
        if showsSecret { json.member("secret", secret.text) }
    }

    /// What a receiver is sent to be tried.
    package func testBody(at instant: Timestamp) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("type", "webhook.test")
            json.member("timestamp", instant: instant.milliseconds)
            json.object("data") { $0.member("webhook", id) }
        }
        return json.finish()
    }
}

extension DeliveryRecord {
    /// What has become of an event (`Delivery` of openapi.yaml).
    ///
    /// - Parameters:
    ///   - json: where it is written to.
    ///   - identifier: names the event in its stream.
    ///   - nextAttemptAt: when it is tried again, by the wall clock.
    ///   - sharedSession: whether its session is shown as `shared` (S-4).
    package func write(
        to json: inout JSONWriter, identifier: String, nextAttemptAt: Timestamp?,
        sharedSession: Bool
    ) {
        json.object { json in
            json.member("event", identifier)
            json.member("type", event)
            json.member(session: session, isShared: sharedSession)
            json.member("task", task)
            json.member("state", state.rawValue)
            json.array("attempts") { json in
                for attempt in attempts {
                    json.object { attempt.writeMembers(to: &$0) }
                }
            }
            json.member("attemptCount", attemptCount)
            json.member("nextAttemptAt", instant: nextAttemptAt?.milliseconds)
        }
    }
}

extension DeliveryAttempt {
    /// A try, inside of its object (`DeliveryAttempt` of openapi.yaml).
    package func writeMembers(to json: inout JSONWriter) {
        json.member("at", instant: at.milliseconds)
        json.member("status", status)
        json.member("duration", Double(duration) / 1000)
        json.member("error", error)
    }
}
