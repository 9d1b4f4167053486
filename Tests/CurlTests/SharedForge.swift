import TestSupport

/// An authority and its leaves, made once for all tests of the process, since openssl takes its
/// time.
actor SharedForge {
    /// Signs servers.
    static let servers = SharedForge()
    /// Signs clients; no server is signed by it.
    static let clients = SharedForge()

    private var making: Task<Made, any Error>?

    private struct Made {
        let forge: CertificateForge
        var leaves: [CertificateForge.Flaw: CertificateForge.Identity] = [:]
    }

    /// The path of the authority's certificate.
    var authorityPath: String {
        get async throws { try await made.forge.authorityPath }
    }

    /// The leaf with this flaw.
    func leaf(_ flaw: CertificateForge.Flaw = .none) async throws -> CertificateForge.Identity {
        guard let leaf = try await made.leaves[flaw] else { throw NoSuchLeaf() }
        return leaf
    }

    struct NoSuchLeaf: Error {}

    private var made: Made {
        get async throws {
            let task =
                making
                ?? Task {
                    var made = Made(forge: try await CertificateForge())
                    for flaw: CertificateForge.Flaw in [.none, .selfSigned, .expired, .wrongHost] {
                        made.leaves[flaw] = try await made.forge.leaf("\(flaw)", flaw)
                    }
                    return made
                }
            making = task
            return try await task.value
        }
    }
}
