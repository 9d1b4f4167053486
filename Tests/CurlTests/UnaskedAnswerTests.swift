import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// What a server sends unasked on a connection that is kept is nobody's answer (RFC 9112 §6.3).
@Suite struct UnaskedAnswers {
    init() { TestLoop.start() }

    private static let surplus = [
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nCache-Control: max-age=1000\r\n\r\nevil", "late",
    ]

    @LoopActor
    @Test(arguments: ["GET", "POST"], surplus)
    func `the next request goes out on another connection`(
        method: String, surplus: String
    ) async throws {
        let origin = try ScriptedOrigin()
        let (isRead, isSent) = (Gate(), Gate())
        origin.on("/first") { exchange in
            try exchange.answer(200, [:], "hi")
            try exchange.stall(until: isRead)
            try exchange.send(surplus)
            isSent.open()
        }
        origin.on("/next", .fixed(200, [:], "right"))
        let network = Network()
        #expect(try await network.fetch(origin.url("/first")).text == "hi")
        isRead.open()
        try await isSent.wait()
        for isKept in [false, true] {
            let probe = try await network.fetch(origin.url("/next"), method: method)
            #expect(probe.error == nil && probe.text == "right")
            #expect(probe.ends[0].metrics.isReusedConnection == isKept)
            // Nothing had left: that is no transaction.
            #expect(probe.earlier.isEmpty)
        }
        #expect(origin.requests(for: "/next").map(\.connection) == [2, 2])
    }

    @LoopActor
    @Test(arguments: ["1.2", "1.3"])
    func `the same over TLS`(version: String) async throws {
        let forge = try await CertificateForge()
        let identity = try await forge.leaf()
        let server = try await PythonServer(
            Self.script, [identity.certificatePath, identity.keyPath, version])
        let network = Network(trustedCertificates: forge.authorityPath)
        let url = "https://localhost:\(server.port)/"
        for (text, isKept) in [("connection 1", false), ("connection 1", true)] {
            let probe = try await network.fetch(url)
            #expect(probe.error == nil && probe.text == text)
            #expect(probe.ends[0].metrics.isReusedConnection == isKept)
        }
        // Asking for the lines tells it that the answer has been read.
        _ = try await server.lines
        try await eventually("the surplus") { server.linesSoFar.contains("sent") }
        let probe = try await network.fetch(url)
        // The second one was that for the lines.
        #expect(probe.error == nil && probe.text == "connection 3")
        #expect(!probe.ends[0].metrics.isReusedConnection)
    }

    /// Answers with the connection's number, and on the first one, behind the second answer, once
    /// more.
    private static let script = #"""
        import socket, ssl, threading
        certificate, key, version = sys.argv[1:]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        number = ssl.TLSVersion.TLSv1_2 if version == "1.2" else ssl.TLSVersion.TLSv1_3
        context.minimum_version = context.maximum_version = number
        is_read = threading.Event()
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        tell("port", listener.getsockname()[1])

        def answer(connection, text):
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n"
            connection.sendall((head + text).encode())

        def serve(plain, number):
            if plain.recv(5, socket.MSG_PEEK) == b"MARK ":
                is_read.set()
                tell(plain.makefile("rb").readline().decode().strip())
                return
            # Else the surplus waits for the client's acknowledgement of the answer before it.
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = context.wrap_socket(plain, server_side=True)
            count = 0
            while connection.recv(65536):
                answer(connection, f"connection {number}")
                count += 1
                if number == 1 and count == 2:
                    # In a record of its own.
                    is_read.wait()
                    answer(connection, "evil")
                    tell("sent")

        for number in range(1, 100):
            plain, _ = listener.accept()
            threading.Thread(target=serve, args=(plain, number), daemon=True).start()
        """#
}
