package import JSON
package import Semantics

extension DecisionKind {
    /// The kind as decisions show it: a challenge is one, whoever of the delegates is asked.
    package var shownName: String {
        switch self {
        case .sessionChallenge, .taskChallenge: "challenge"
        case .redirect, .response, .cache, .delayedRequest, .bodyStream: rawValue
        }
    }
}

extension DecisionNotice {
    /// The member `decision` of an event that asks.
    package func writeMember(to json: inout JSONWriter) {
        json.object("decision") { json in
            json.member("id", id)
            json.member("kind", kind.shownName)
            json.member("deadline", instant: deadline.milliseconds)
        }
    }
}

extension DecisionRecord {
    /// The decision as it is answered (`Decision` of openapi.yaml).
    ///
    /// - Parameters:
    ///   - json: what it is written to.
    ///   - sharedSession: whether the session is shown as `shared` (S-4).
    package func write(to json: inout JSONWriter, sharedSession: Bool) {
        json.object { json in
            json.member("id", id)
            json.member("kind", kind.shownName)
            json.member("state", state.rawValue)
            json.member(session: session, isShared: sharedSession)
            json.member("task", task)
            json.member("createdAt", instant: createdAt.milliseconds)
            json.member("deadline", instant: deadline.milliseconds)
            json.member("event", raw: event.data(sharedSession: sharedSession))
        }
    }

    /// The event that asked, without its place in a stream.
    private var event: Event {
        Event(tenant: tenant, session: session, task: task, at: createdAt, body: question)
    }
}
