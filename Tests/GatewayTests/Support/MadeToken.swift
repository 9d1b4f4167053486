import Semantics
import TestSupport

/// A token that a call has made, with what lets its holder in.
struct MadeToken {
    let id: String
    let text: String
}

extension TestClient {
    /// Makes a token, of the operator's own tenant unless `members` say otherwise.
    func makeToken(
        _ scopes: [Scope], _ members: [String: TestJSON] = [:]
    ) async throws -> MadeToken {
        let spec: [String: TestJSON] = [
            "tenant": "default", "scopes": .array(scopes.map { .string($0.rawValue) }),
        ]
        let made = try await post("/v1/tokens", .object(spec.merging(members) { $1 }))
            .json(201, of: "POST tokens")
        return MadeToken(id: made.id, text: made["token"].string ?? "")
    }

    /// Makes a tenant, and gives a client of it that may do everything in it.
    func makeTenant(
        _ name: String, _ members: [String: TestJSON] = [:]
    ) async throws -> TestClient {
        let spec: [String: TestJSON] = ["name": .string(name)]
        _ = try await post("/v1/tenants", .object(spec.merging(members) { $1 }))
            .json(201, of: "POST tenants")
        let scopes = Scope.allCases.filter { !$0.isOfGateway }
        return with(token: try await makeToken(scopes, ["tenant": .string(name)]).text)
    }
}
