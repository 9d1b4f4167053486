import Foundation

/// An HTTP proxy of Python's that answers each request to it as its test says, and makes the tunnel
/// after a 2xx.
final class ConnectProxy: Sendable {
    private let server: PythonServer

    /// Starts it; the n-th request to it, of all connections, gets the n-th answer, and later ones
    /// the last.
    ///
    /// What an answer's head promises of a body has to be there; an empty answer closes the
    /// connection.
    init(_ answers: [String]) async throws {
        server = try await PythonServer(Self.script, answers)
    }

    var port: UInt16 { server.port }

    /// The heads of the requests to it, line by line; what goes through a tunnel is no request to
    /// it.
    var requests: [[String]] {
        get async throws {
            try await server.lines.map {
                try JSONDecoder().decode([String].self, from: Data($0.utf8))
            }
        }
    }

    /// The values of a field in each request to it, "" where it has none.
    func values(of name: String) async throws -> [String] {
        try await requests.map { lines in
            let prefix = name + ": "
            return lines.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
                ?? ""
        }
    }

    private static let script = #"""
        import json, socket, sys, threading
        answers = sys.argv[1:]
        count = 0
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        tell("port", listener.getsockname()[1])

        def relay(source, target):
            try:
                while data := source.recv(65536):
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        def serve(client):
            global count
            stream = client.makefile("rb", buffering=0)
            try:
                while line := stream.readline():
                    lines = [line.decode().strip()]
                    while line := stream.readline().strip():
                        lines.append(line.decode())
                    if lines[0].startswith("MARK "):
                        tell(lines[0])
                        break
                    tell(json.dumps(lines))
                    answer = answers[min(count, len(answers) - 1)].encode()
                    count += 1
                    if not answer:
                        break
                    if not (answer.startswith(b"HTTP/1.1 2") and lines[0].startswith("CONNECT")):
                        client.sendall(answer)
                        continue
                    host, port = lines[0].split()[1].rsplit(":", 1)
                    server = socket.create_connection((host, int(port)))
                    client.sendall(answer)
                    back = threading.Thread(target=relay, args=(server, client), daemon=True)
                    back.start()
                    relay(client, server)
                    back.join()
                    break
            except OSError:
                pass
            client.close()

        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client,), daemon=True).start()
        """#
}
