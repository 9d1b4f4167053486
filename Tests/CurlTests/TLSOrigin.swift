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

    private let server: PythonServer

    /// Starts it; `version` is `1.2` or `1.3`, and clients' certificates are those of `authority`,
    /// a PEM file.
    convenience init(
        _ identity: CertificateForge.Identity, version: String = "1.3",
        demand: Demand = .nothing, authority: String = "", tells: Bool = false
    ) async throws {
        try await self.init(
            certificate: identity.certificatePath, key: identity.keyPath, version: version,
            demand: demand, authority: authority, tells: tells)
    }

    /// The same with the paths of PEM files; `tells` of headers too.
    init(
        certificate: String, key: String, version: String = "1.3", demand: Demand = .nothing,
        authority: String = "", tells: Bool = false
    ) async throws {
        server = try await PythonServer(
            Self.script,
            [certificate, key, version, demand.rawValue, authority, tells ? "tells" : ""])
    }

    var port: UInt16 { server.port }

    func url(_ path: String = "/", host: String = "localhost") -> String {
        "https://\(host):\(port)\(path)"
    }

    /// The requests that it has read, such as `request 2 GET /`, where 2 is the number of the
    /// connection.
    var requests: [String] {
        get async throws { try await server.lines.filter { $0.hasPrefix("request") } }
    }

    /// The header lines of all requests, where it tells them.
    var headers: [String] {
        get async throws {
            try await server.lines.compactMap {
                $0.hasPrefix("header ") ? String($0.dropFirst(7)) : nil
            }
        }
    }

    /// Waits until a handshake has failed on its side too.
    func waitForFailure() async throws {
        try await eventually("a handshake to fail") {
            server.linesSoFar.contains { $0.hasPrefix("failed") }
        }
    }

    private static let script = #"""
        import socket, ssl, sys, threading
        certificate, key, version, demand, authority, tells = sys.argv[1:]
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
        tell("port", listener.getsockname()[1])

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
                if plain.recv(5, socket.MSG_PEEK) == b"MARK ":
                    tell(plain.makefile("rb").readline().decode().strip())
                    return
                connection = context.wrap_socket(plain, server_side=True)
                stream = connection.makefile("rb")
                while line := stream.readline():
                    method, path, _ = line.decode().split()
                    headers = []
                    while line := stream.readline().strip():
                        headers.append(line.decode())
                    tell("request", number, method, path)
                    if tells:
                        for header in headers:
                            tell("header", header)
                    if "Transfer-Encoding: chunked" in headers:
                        while stream.readline().strip() != b"0":
                            pass
                        stream.readline()
                    if path == "/private" and not connection.getpeercert():
                        authenticate(connection)
                    body = client(connection).encode()
                    connection.sendall(
                        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            except (OSError, ssl.SSLError) as error:
                tell("failed", number, repr(error))
            finally:
                plain.close()

        number = 0
        while True:
            plain, _ = listener.accept()
            number += 1
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
