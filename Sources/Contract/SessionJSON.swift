package import JSON
package import Semantics

extension SessionView {
    /// The session as it is answered; `writeMore` adds members.
    package func write(
        to json: inout JSONWriter, and writeMore: (inout JSONWriter) -> Void = { _ in }
    ) {
        json.object { json in
            json.member("id", record.shownID)
            json.member("type", record.type.rawValue)
            json.member("identifier", record.identifier)
            json.member("description", record.description)
            json.name("metadata")
            json.metadata(record.metadata)
            json.member("maximumBytesPerSecond", record.maximumBytesPerSecond)
            json.member("state", record.state.rawValue)
            json.member("createdAt", instant: record.createdAt.milliseconds)
            json.object("configuration") { record.configuration.writeMembers(to: &$0) }
            json.name("delegate")
            if let delegate = record.delegate { delegate.write(to: &json) } else { json.null() }
            json.member("noEffect", SessionConfiguration.noEffect)
            json.object("taskCounts") { json in
                for state in TaskState.allCases {
                    json.member(named: state.rawValue, taskCounts[state] ?? 0)
                }
            }
            json.object("links") { json in
                let path = "/v1/sessions/\(record.shownID)"
                json.member("self", path)
                json.member("tasks", path + "/tasks")
                json.member("events", path + "/events")
                json.member("decisions", path + "/decisions")
                json.member("cookies", path + "/cookies")
                json.member("credentials", path + "/credentials")
                json.member("cache", path + "/cache")
            }
            writeMore(&json)
        }
    }
}

extension SessionRecord {
    /// The id that clients see: the shared session has the same for everyone (S-4).
    package var shownID: String { type == .shared ? "shared" : id.description }
}
