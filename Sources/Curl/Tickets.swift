internal import CGSSAPI
internal import COpenSSL
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
        let proxy = request.proxyNegotiates ? request.httpProxy?.host : nil
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

    private nonisolated static func base64(_ bytes: UnsafeRawBufferPointer) -> String {
        // Room for the NUL that OpenSSL writes behind the text.
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = EVP_EncodeBlock(
            &text, bytes.bindMemory(to: UInt8.self).baseAddress, CInt(bytes.count))
        return String(decoding: text[..<Int(count)], as: UTF8.self)
    }
}

extension AttemptRequest {
    /// Whether a proxy is asked that wants a ticket.
    var proxyNegotiates: Bool { httpProxy != nil && proxyCredential?.scheme == .negotiate }

    /// Whether tickets are needed before it goes out.
    var needsTickets: Bool { credential?.scheme == .negotiate || proxyNegotiates }
}
