internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// The credential storage of a session (S-67); its secrets come in and never out.
extension Service {
    func listCredentials(_ call: Call) async throws -> Response {
        let session = try await session(of: call)
        let isWanted = try credentialFilter(call)
        let credentials = try await gateway.memory.credentials(in: session, of: call.tenant).filter(
            isWanted)
        return await .lists(
            JSONList("credentials", credentials) { credential, json in
                credential.write(to: &json)
            }, capacity: 256 * credentials.count + 64)
    }

    /// Puts one in, in place of another of the same space and user.
    func putCredential(_ call: Call) async throws -> Response {
        let session = try await sessionRecord(of: call)
        let draft = try await call.json { reader throws(JSONError) in
            try StoredCredentialDraft(&reader)
        }
        let (space, credential) = try draft.checked(in: session, parse: parse)
        let stored = try await gateway.memory.credentials(in: session.id, of: call.tenant)
        // The first of a space is its default, until another one is said to be.
        let hasDefault = stored.contains {
            $0.isDefault && $0.space == space && $0.user != draft.user
        }
        do throws(GatewayError) {
            try await gateway.memory.putCredential(
                credential, for: space, asDefault: draft.isDefault ?? !hasDefault, in: session.id,
                of: call.tenant)
        } catch {
            throw Problem(error, credentialAt: draft.user == nil ? "/certificate" : "/password")
        }
        return Response(status: 204)
    }

    func deleteCredentials(_ call: Call) async throws -> Response {
        let session = try await session(of: call)
        let isUnwanted = try credentialFilter(call)
        _ = try await gateway.memory.deleteCredentials(
            in: session, of: call.tenant, where: isUnwanted)
        return Response(status: 204)
    }
}

extension Service {
    /// The credentials that the query is about: all that agree with every member of it.
    private func credentialFilter(
        _ call: Call
    ) throws(Problem) -> (StoredCredential) -> Bool {
        let filters = call.filters
        let port = try call.number("port", in: 1...65_535, default: 0)
        let isProxy = filters["isProxy"]
        guard ["true", "false", nil].contains(isProxy) else {
            throw Call.invalid("isProxy", "must be true or false")
        }
        let host = filters["host"].flatMap { HostName.filtered($0, parse) }
        if filters["host"] != nil, host == nil { throw Call.invalid("host", HostName.rule) }
        return { stored in
            let space = stored.space
            return (host ?? space.host) == space.host && (port == 0 || port == space.port)
                && filters["protocol"] ?? space.scheme == space.scheme
                && (filters["realm"] == nil || filters["realm"] == space.realm)
                && filters["authenticationMethod"] ?? space.method.name == space.method.name
                && (isProxy == nil || (isProxy == "true") == space.isProxy)
                && (filters["user"] == nil || filters["user"] == stored.user)
        }
    }
}
