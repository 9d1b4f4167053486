internal import Semantics

extension Transport {
    /// The credential with its certificate made ready, if it is one.
    func prepared(_ credential: Credential) async throws(GatewayError) -> Credential {
        guard case .identity(let identity) = credential.proof else { return credential }
        do throws(IdentityRejection) {
            return Credential(
                .identity(try await prepare(identity)),
                persistence: credential.persistence)
        } catch {
            throw .credentialNotUsable(error.sentence)
        }
    }
}
