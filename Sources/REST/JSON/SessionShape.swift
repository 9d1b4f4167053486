internal import Contract
internal import Engine
internal import JSON
internal import Semantics

/// What tells one session from another that is asked for under the same identifier (S-6).
enum SessionShape {
    /// Where what is asked for differs from a session that is there, with its webhooks.
    ///
    /// - Returns: a pointer to the first member that does; nil where none does. Description and
    ///   limit do not count: they can be changed. Nor do webhooks that are not named.
    static func difference(
        of spec: SessionSpec, from record: SessionRecord, _ webhooks: [WebhookRecord]
    ) -> String? {
        guard
            spec.type != record.type || spec.configuration != record.configuration
                || spec.delegate != record.delegate
        else {
            return hasAll(spec.webhooks, webhooks) ? nil : "/webhooks"
        }
        // Values of sensitive headers, which are not shown, may be all that differs.
        return difference(
            of: value(spec.type, spec.configuration, spec.delegate),
            from: value(record.type, record.configuration, record.delegate), at: "")
            ?? "/configuration/httpAdditionalHeaders"
    }

    private static func hasAll(_ specs: [WebhookSpec], _ webhooks: [WebhookRecord]) -> Bool {
        specs.allSatisfy { spec in
            webhooks.contains { webhook in
                webhook.url == spec.url && webhook.events == spec.events
                    && webhook.description == spec.description
                    && spec.secret.map { $0 == webhook.secret } ?? true
            }
        }
    }

    private static func value(
        _ type: SessionType, _ configuration: SessionConfiguration, _ delegate: DelegateOptions?
    ) -> JSONValue {
        var json = JSONWriter()
        json.object { json in
            json.member("type", type.rawValue)
            json.object("configuration") { configuration.writeMembers(to: &$0) }
            json.name("delegate")
            if let delegate { delegate.write(to: &json) } else { json.null() }
        }
        return (try? JSONValue(parsing: json.finish())) ?? .null
    }

    private static func difference(
        of asked: JSONValue, from there: JSONValue, at pointer: String
    ) -> String? {
        guard case .object(let members) = asked, case .object(let others) = there else {
            return asked == there ? nil : pointer
        }
        for name in members.map(\.name) + others.map(\.name) {
            let pointer = pointer + JSONPointer.text([name])
            switch (asked[name], there[name]) {
            case (let asked?, let there?):
                if let found = difference(of: asked, from: there, at: pointer) { return found }
            case (nil, nil): break
            default: return pointer
            }
        }
        return nil
    }
}
