package import JSON
package import Semantics

extension TenantRecord {
    /// The tenant (`Tenant` of openapi.yaml).
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("name", name)
            json.member("description", description)
            json.member("state", isEnding ? "deleting" : "active")
            json.object("quotas") { json in
                for quota in TenantQuotas.Quota.allCases {
                    json.member(named: quota.rawValue, quotas[quota])
                }
            }
            json.object("egress") { egress.writeMembers(to: &$0) }
            json.member("taskRetention", taskRetention.map { $0.components.seconds })
            json.member("createdAt", instant: createdAt?.milliseconds)
        }
    }
}

extension EgressNarrowing {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.name("allowedHosts")
        EgressNarrowing.write(allowedHosts?.map(\.description), to: &json)
        json.name("deniedHosts")
        EgressNarrowing.write(deniedHosts.map(\.description), to: &json)
        json.name("allowedAddresses")
        EgressNarrowing.write(allowedAddresses?.map(\.description), to: &json)
        json.name("deniedAddresses")
        EgressNarrowing.write(deniedAddresses.map(\.description), to: &json)
    }

    private static func write(_ places: [String]?, to json: inout JSONWriter) {
        guard let places else { return json.null() }
        json.array { json in
            for place in places { json.string(place) }
        }
    }
}

extension TokenRecord {
    /// The members of a token, inside of its object (`Token` of openapi.yaml): nothing by which
    /// anybody would be let in.
    package func writeMembers(to json: inout JSONWriter, tenant: String) {
        json.member("id", id)
        json.member("tenant", tenant)
        json.array("scopes") { json in
            for scope in Scope.allCases where scopes.contains(scope) {
                json.string(scope.rawValue)
            }
        }
        json.member("description", description)
        json.member("createdAt", instant: createdAt.milliseconds)
        json.member("expiresAt", instant: expiresAt?.milliseconds)
        json.member("lastUsedAt", instant: lastUsedAt?.milliseconds)
    }
}
