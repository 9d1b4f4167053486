/// Makes certificates with the `openssl` program in a directory of its own.
public final class CertificateForge: Sendable {
    /// What may be wrong with a leaf.
    public enum Flaw: Sendable {
        /// Nothing: signed by the forge's authority, for `localhost` and 127.0.0.1, in force.
        case none
        /// Signed by itself.
        case selfSigned
        /// Ended in 2001.
        case expired
        /// In force, but for `wrong.example` only.
        case wrongHost
    }

    /// A certificate with its key, as PEM files.
    public struct Identity: Sendable {
        /// The path of the certificate.
        public let certificatePath: String
        /// The path of the unencrypted key.
        public let keyPath: String
    }

    /// The path of the authority's certificate (PEM), for a client to trust.
    public var authorityPath: String { directory.file("ca.pem") }
    private let directory: TemporaryDirectory

    /// Makes an authority with an EC key.
    ///
    /// - Throws: `ProgramFailed` with openssl's words.
    public init() async throws {
        directory = try TemporaryDirectory()
        try await openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", directory.file("ca.key"), "-out", authorityPath, "-days", "30",
            "-subj", "/CN=Test Authority")
    }

    /// Makes a leaf.
    ///
    /// `name` also names its files, so it is used once.
    /// - Throws: `ProgramFailed` with openssl's words.
    public func leaf(_ name: String = "leaf", _ flaw: Flaw = .none) async throws -> Identity {
        let identity = Identity(
            certificatePath: directory.file("\(name).pem"), keyPath: directory.file("\(name).key"))
        let request = directory.file("\(name).csr")
        let host = flaw == .wrongHost ? "wrong.example" : "localhost"
        let names = flaw == .wrongHost ? "DNS:wrong.example" : "DNS:localhost,IP:127.0.0.1,IP:::1"
        let extensions = try directory.write(
            "\(name).ext", Array("subjectAltName=\(names)\n".utf8))
        try await openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", identity.keyPath, "-out", request, "-subj", "/CN=\(host)")
        var signing = ["x509", "-req", "-in", request, "-out", identity.certificatePath]
        signing += ["-extfile", extensions]
        if flaw == .selfSigned {
            signing += ["-signkey", identity.keyPath, "-days", "30"]
        } else if flaw == .expired {
            try await signExpired(request, extensions, identity)
            return identity
        } else {
            signing += [
                "-CA", authorityPath, "-CAkey", directory.file("ca.key"), "-CAcreateserial",
            ]
            signing += ["-days", "30"]
        }
        try await ChildProcess.run("openssl", signing)
        return identity
    }

    /// `openssl x509` cannot date into the past, `openssl ca` can.
    private func signExpired(
        _ request: String, _ extensions: String, _ identity: Identity
    ) async throws {
        let database = try directory.write("index.txt", [])
        let configuration = """
            [ca]
            default_ca=authority
            [authority]
            database=\(database)
            new_certs_dir=\(directory.path)
            rand_serial=yes
            default_md=sha256
            policy=any
            [any]
            commonName=supplied
            """
        let file = try directory.write("ca.cnf", Array(configuration.utf8))
        try await openssl(
            "ca", "-batch", "-config", file, "-in", request, "-out", identity.certificatePath,
            "-cert", authorityPath, "-keyfile", directory.file("ca.key"), "-extfile", extensions,
            "-startdate", "20000101000000Z", "-enddate", "20010101000000Z", "-notext")
    }

    private func openssl(_ arguments: String...) async throws {
        try await ChildProcess.run("openssl", arguments)
    }
}

/// A TLS origin: `openssl s_server`, whose answer to any GET is a page about the handshake.
public final class SecureOrigin: Sendable {
    /// The port on 127.0.0.1.
    public let port: UInt16
    private let process: ChildProcess

    /// Starts it with a certificate; `arguments` go to `openssl s_server`, as in `-tls1_2`.
    ///
    /// - Throws: `DeadlinePassed` with openssl's words.
    public init(_ identity: CertificateForge.Identity, _ arguments: [String] = []) async throws {
        let base = ["s_server", "-www", "-naccept", "1000", "-accept", "127.0.0.1:0"]
        let files = ["-cert", identity.certificatePath, "-key", identity.keyPath]
        process = try ChildProcess("openssl", base + files + arguments)
        let line = try await process.waitForLine { $0.hasPrefix("ACCEPT") }
        guard let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw MalformedMessage(line)
        }
        self.port = port
    }

    /// The https URL of a path on it, by the name `localhost` or by another one.
    public func url(_ path: String = "/", host: String = "localhost") -> String {
        "https://\(host):\(port)\(path)"
    }
}
