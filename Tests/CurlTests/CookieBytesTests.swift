@testable import Curl
import Engine
import Foundation
import Loop
import Semantics
import TestSupport
import Testing

/// Cookies go back byte for byte (RFC 6265bis §5.6), whatever the bytes are.
@Suite struct CookieBytes {
    init() { TestLoop.start() }

    private static let values: [[UInt8]] = [
        Array("caf".utf8) + [0xe9], [0x80], [0xff, 0xfe, 0xc0, 0x80],
        Array("春=\u{e9}\u{301}🍪".utf8), Array("a".utf8) + [0xc3], [0xe2, 0x82] + Array("b".utf8),
        [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf0, 0x9f, 0x8d],
        // What stands for bytes, as itself.
        Array("\u{10f7e9}x\u{10f77f}\u{10f800}".utf8),
    ]

    @Test(arguments: values + [[], Array("plain".utf8), Array(0x80...0xff)])
    func `any bytes are text that can be turned back`(bytes: [UInt8]) {
        let text = OpaqueBytes.text(bytes)
        #expect((OpaqueBytes.bytes(of: text) ?? Array(text.utf8)) == bytes)
        if let plain = String(validating: bytes, as: UTF8.self), !bytes.contains(0xf4) {
            #expect(text == plain)
        }
    }

    @LoopActor
    @Test func `what an origin has set is what it gets`() async throws {
        let server = try await PythonServer(
            Self.script,
            Self.values.map { bytes in bytes.map { String(format: "%02x", $0) }.joined() })
        let url = "http://127.0.0.1:\(server.port)/"
        let network = Network()
        let first = try await network.fetch(url)
        let cookies = try #require(first.head?.headers.values(of: "Set-Cookie"))
        #expect(cookies.count == Self.values.count)
        #expect(first.head?.headers.first("Latin") == "café")
        for cookie in cookies { try await network.fetch(url, headers: ["cookie": cookie]) }
        let got = try await server.lines
        #expect(
            got
                == Self.values.map { bytes in
                    (Array("a=".utf8) + bytes).map { String(format: "%02x", $0) }.joined()
                })
    }

    private static let script = #"""
        import socket
        values = [bytes.fromhex(word) for word in sys.argv[1:]]
        listener = socket.create_server(("127.0.0.1", 0))
        tell("port", listener.getsockname()[1])
        while True:
            client, _ = listener.accept()
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(65536)
            for line in head.split(b"\r\n"):
                if line.startswith(b"MARK "):
                    tell(line.decode())
                if line.lower().startswith(b"cookie: "):
                    tell(line[8:].hex())
            fields = b"".join(b"Set-Cookie: a=" + value + b"\r\n" for value in values)
            client.sendall(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nLatin: caf\xe9\r\n" + fields
                + b"Content-Length: 0\r\n\r\n")
            client.close()
        """#
}
