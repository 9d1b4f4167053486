internal import CGSSAPI
internal import Engine
internal import Glibc
internal import Loop
internal import Semantics
internal import Syntax

/// Proofs of who the gateway is, by the Kerberos ticket cache of the process (Negotiate: RFC 4559).
///
/// libcurl would ask for the ticket on the loop, and wait there for the key distribution centre and
/// for names to be looked up. So the token is made on a thread of its own, one at a time, before
/// the attempt goes out, and is sent as a header: of Kerberos the first token is the whole proof.
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

    /// Nil where the cache has no ticket for the host and cannot get one: then the request goes out
    /// without, and the server says what it thinks of that. Blocks.
    private nonisolated static func proof(for host: String) -> String? {
        var count = 0
        guard let bytes = cgssapi_first_token("HTTP@" + host, &count) else { return nil }
        defer { free(bytes) }
        return "Negotiate "
            + Base64.standard.text(of: UnsafeRawBufferPointer(start: bytes, count: count))
    }
}

extension AttemptRequest {
    /// Whether a proxy is asked that wants a ticket.
    var proxyNegotiates: Bool { httpProxy != nil && proxyCredential?.scheme == .negotiate }

    /// Whether tickets are needed before it goes out.
    var needsTickets: Bool { credential?.scheme == .negotiate || proxyNegotiates }
}
