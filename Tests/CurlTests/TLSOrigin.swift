import TestSupport

/// A TLS server of Python's that tells of each connection and each request that it has read.
///
/// Answers every request with the common name of the client's certificate, or `nobody`.
final class TLSOrigin: Sendable {
    /// What it wants of clients.
    enum Demand: String, Sendable {
        case nothing, optional, required
        /// Only when a request has come for `/private`, by TLS 1.3's post-handshake authentication.
        case later
    }

    let port: UInt16
    private let process: ChildProcess

    /// Starts it; `version` is `1.2` or `1.3`, and clients' certificates are those of `authority`, a PEM file.
    convenience init(
        _ identity: CertificateForge.Identity, version: String = "1.3",
        demand: Demand = .nothing, authority: String = ""
    ) async throws {
        try await self.init(
            certificate: identity.certificatePath, key: identity.keyPath, version: version,
            demand: demand, authority: authority)
    }

    /// The same with the paths of PEM files.
    init(
        certificate: String, key: String, version: String = "1.3", demand: Demand = .nothing,
        authority: String = ""
    ) async throws {
        process = try ChildProcess(
            "python3",
            ["-u", "-c", Self.script, certificate, key, version, demand.rawValue, authority])
        let line = try await process.waitForLine { $0.hasPrefix("port ") }
        guard let port = UInt16(line.dropFirst(5)) else { throw NoPort() }
        self.port = port
    }

    func url(_ path: String = "/", host: String = "localhost") -> String {
        "https://\(host):\(port)\(path)"
    }

    /// `connection N`, `failed N`, `request N GET /`, in their order.
    var lines: [String] { process.outputText.split(separator: "\n").dropFirst().map(String.init) }

    /// The requests that it has read.
    var requests: [String] { lines.filter { $0.hasPrefix("request") } }

    /// Waits until a handshake has failed on its side too.
    func waitForFailure() async throws {
        try await eventually("a handshake to fail") { lines.contains { $0.hasPrefix("failed") } }
    }

    struct NoPort: Error {}

    private static let script = #"""
        import socket, ssl, sys, threading
        certificate, key, version, demand, authority = sys.argv[1:]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        number = ssl.TLSVersion.TLSv1_2 if version == "1.2" else ssl.TLSVersion.TLSv1_3
        context.minimum_version = context.maximum_version = number
        if authority:
            context.load_verify_locations(authority)
        if demand in ("optional", "later"):
            context.verify_mode = ssl.CERT_OPTIONAL
        if demand == "required":
            context.verify_mode = ssl.CERT_REQUIRED
        context.post_handshake_auth = demand == "later"
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        print("port", listener.getsockname()[1])

        def client(connection):
            certificate = connection.getpeercert()
            if not certificate:
                return "nobody"
            return dict(pair[0] for pair in certificate["subject"])["commonName"]

        def is_known(connection):
            try:
                return bool(connection.getpeercert())
            except ValueError:
                return False

        def authenticate(connection):
            # OpenSSL looks at what has come when it reads, and there is nothing to read.
            connection.verify_client_post_handshake()
            connection.settimeout(0.02)
            while not is_known(connection):
                try:
                    connection.write(b"")
                    if not connection.recv(1):
                        raise OSError("gone")
                except TimeoutError:
                    pass
            connection.settimeout(None)

        def serve(plain, number):
            try:
                connection = context.wrap_socket(plain, server_side=True)
                stream = connection.makefile("rb")
                while line := stream.readline():
                    method, path, _ = line.decode().split()
                    while stream.readline().strip():
                        pass
                    print("request", number, method, path)
                    if path == "/private" and not connection.getpeercert():
                        authenticate(connection)
                    body = client(connection).encode()
                    connection.sendall(
                        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            except (OSError, ssl.SSLError) as error:
                print("failed", number, repr(error))
            finally:
                plain.close()

        number = 0
        while True:
            plain, _ = listener.accept()
            number += 1
            print("connection", number)
            threading.Thread(target=serve, args=(plain, number), daemon=True).start()
        """#
}

extension CertificateForge.Flaw {
    /// What OpenSSL says of it, and the error by default.
    var failure: (code: Int, words: String)? {
        switch self {
        case .none: nil
        case .selfSigned: (18, "self-signed certificate")
        case .expired: (10, "certificate has expired")
        case .wrongHost: (62, "hostname mismatch")
        }
    }
}
