import Foundation
import Semantics

/// A SOCKS proxy of Python's (RFC 1928 and version 4) that tells what it was asked for, and
/// connects to that port of this machine, whatever the host.
final class SOCKSProxy: Sendable {
    /// A request to connect, as it stood on the wire.
    struct Request: Equatable, Decodable {
        let version: Int
        /// The methods that were offered, of version 5.
        var methods: [Int] = []
        /// A name or an address.
        let host: String
        /// Whether the host was told as a name.
        let isName: Bool
        let port: Int
        /// Of version 4.
        var user = ""
    }

    private let server: PythonServer

    /// Starts it. `greeting` is what it answers to the methods, in hexadecimal, empty to close;
    /// `reply` what it answers to the request in place of connecting, `close` to close and `wait`
    /// to say nothing.
    init(greeting: String = "0500", reply: String = "") async throws {
        server = try await PythonServer(Self.script, [greeting, reply])
    }

    var port: UInt16 { server.port }

    func address(_ kind: ProxyAddress.Kind) -> ProxyAddress {
        ProxyAddress(host: "127.0.0.1", port: Int(port), kind: kind)
    }

    /// The requests to connect so far, one for each connection.
    var requests: [Request] {
        get async throws {
            try await server.lines.map {
                try JSONDecoder().decode(Request.self, from: Data($0.utf8))
            }
        }
    }

    private static let script = #"""
        import ipaddress, json, socket, struct, sys, threading
        greeting, reply = sys.argv[1:]
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        tell("port", listener.getsockname()[1])

        def relay(source, target):
            try:
                while data := source.recv(65536):
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        def text(stream):
            name = b""
            while (byte := stream.read(1)) not in (b"", b"\0"):
                name += byte
            return name.decode()

        def read4(stream):
            _, port, address = struct.unpack("!BH4s", stream.read(7))
            asked = {"version": 4, "methods": [], "user": text(stream), "isName": False, "port": port}
            asked["host"] = str(ipaddress.ip_address(address))
            if address[:3] == bytes(3) and address[3]:
                asked["host"], asked["isName"] = text(stream), True
            return asked

        def read5(stream, client):
            methods = list(stream.read(stream.read(1)[0]))
            client.sendall(bytes.fromhex(greeting))
            if greeting != "0500":
                return None
            _, _, _, kind = stream.read(4)
            asked = {"version": 5, "methods": methods, "user": "", "isName": kind == 3}
            if kind == 3:
                asked["host"] = stream.read(stream.read(1)[0]).decode()
            else:
                asked["host"] = str(ipaddress.ip_address(stream.read(4 if kind == 1 else 16)))
            asked["port"] = struct.unpack("!H", stream.read(2))[0]
            return asked

        def serve(client):
            stream = client.makefile("rb", buffering=0)
            try:
                version = stream.read(1)
                if version == b"M":
                    return tell("M" + stream.readline().decode().strip())
                asked = read4(stream) if version == b"\4" else read5(stream, client)
                if not asked:
                    return
                tell(json.dumps(asked))
                if reply == "wait":
                    return client.recv(1)
                if reply == "close":
                    return
                if reply:
                    return client.sendall(bytes.fromhex(reply))
                server = socket.create_connection(("127.0.0.1", asked["port"]))
                done = {4: "005a000000000000", 5: "05000001000000000000"}[asked["version"]]
                client.sendall(bytes.fromhex(done))
                back = threading.Thread(target=relay, args=(server, client), daemon=True)
                back.start()
                relay(client, server)
                back.join()
            except (OSError, IndexError, ValueError, struct.error):
                pass
            finally:
                client.close()

        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client,), daemon=True).start()
        """#
}
