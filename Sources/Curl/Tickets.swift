internal import CGSSAPI
internal import Engine
internal import Glibc
internal import Loop
internal import Semantics

/// Proofs of who the gateway is, by the Kerberos ticket cache of the process (Negotiate: RFC 4559).
///
/// libcurl would ask for the ticket on the loop, and wait there for the key distribution centre and for names to be
/// looked up. So the token is made on a thread of its own, one at a time, before the attempt goes out, and is sent as a
/// header: of Kerberos the first token is the whole proof.
@LoopActor
final class Tickets {
    private let thread = FileThreads(count: 1)

    /// The headers' values for a server and a proxy.
    struct Proofs: Sendable {
        /// `Negotiate` and a token; nil where there is none, or none is wanted.
        var server: String?
        /// The same for the proxy.
        var proxy: String?
    }

    /// Makes what the request wants, and calls back on a later turn of the loop.
    func prove(_ request: AttemptRequest, then goOn: @escaping @LoopActor (Proofs) -> Void) {
        let server = request.credential?.scheme == .negotiate ? request.url.host : nil
        let proxy = request.proxyNegotiates ? request.proxy?.host : nil
        thread.submit {
            Proofs(server: server.flatMap(Self.proof), proxy: proxy.flatMap(Self.proof))
        } then: { result in
            goOn((try? result.get()) ?? Proofs())
        }
    }

    /// Nil where the cache has no ticket for the host and cannot get one: then the request goes out without, and the
    /// server says what it thinks of that. Blocks.
    private nonisolated static func proof(for host: String) -> String? {
        var count = 0
        guard let bytes = cgssapi_first_token("HTTP@" + host, &count) else { return nil }
        defer { free(bytes) }
        return "Negotiate " + base64(UnsafeRawBufferPointer(start: bytes, count: count))
    }

    /// RFC 4648 §4.
    private nonisolated static func base64(_ bytes: UnsafeRawBufferPointer) -> String {
        let alphabet = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let number = (0..<3).reduce(0) { number, offset in
                number << 8 | (offset < group.count ? Int(group[start + offset]) : 0)
            }
            for place in 0..<4 {
                let isText = place <= group.count
                text.append(
                    isText ? alphabet[number >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension AttemptRequest {
    /// Whether a proxy is asked that wants a ticket.
    var proxyNegotiates: Bool { proxy != nil && proxyCredential?.scheme == .negotiate }

    /// Whether tickets are needed before it goes out.
    var needsTickets: Bool { credential?.scheme == .negotiate || proxyNegotiates }
}
