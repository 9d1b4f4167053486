internal import CGSSAPI
internal import DequeModule
internal import Engine
internal import Glibc
internal import Loop
internal import Semantics
internal import Syntax

/// Proofs of who the gateway is, by the Kerberos ticket cache of the process (Negotiate: RFC 4559).
///
/// libcurl would ask for the ticket on the loop, and wait there for the key distribution centre and
/// for names to be looked up. So the token is made on threads of their own before the attempt goes
/// out, and is sent as a header: of Kerberos the first token is the whole proof. A host whose key
/// distribution centre does not answer holds one of the threads at most.
@LoopActor
final class Tickets {
    private let threads: FileThreads
    /// Who waits for the hosts that a thread is at work for.
    private var waiting: [String: Deque<Wish>] = [:]

    private struct Wish {
        let server: String?
        let proxy: String?
        let isWanted: @LoopActor () -> Bool
        let goOn: @LoopActor (Proofs) -> Void
    }

    /// The headers' values for a server and a proxy.
    struct Proofs: Sendable {
        /// `Negotiate` and a token; nil where there is none, or none is wanted.
        var server: String?
        /// The same for the proxy.
        var proxy: String?
    }

    /// Makes them on these threads.
    init(on threads: FileThreads) { self.threads = threads }

    /// Makes what the request wants, and calls back on a later turn of the loop; not for one that
    /// is wanted no more by then.
    func prove(
        _ request: AttemptRequest, while isWanted: @escaping @LoopActor () -> Bool,
        then goOn: @escaping @LoopActor (Proofs) -> Void
    ) {
        let wish = Wish(
            server: request.credential?.scheme == .negotiate ? request.url.host : nil,
            proxy: request.proxyNegotiates ? request.httpProxy?.host : nil,
            isWanted: isWanted, goOn: goOn)
        let hosts = "\(wish.server ?? "") \(wish.proxy ?? "")"
        if waiting[hosts] == nil {
            waiting[hosts] = []
            prove(wish, hosts)
        } else {
            waiting[hosts]?.append(wish)
        }
    }

    private func prove(_ wish: Wish, _ hosts: String) {
        let (server, proxy) = (wish.server, wish.proxy)
        threads.submit {
            Proofs(server: server.flatMap(Self.proof), proxy: proxy.flatMap(Self.proof))
        } then: { [weak self] result in
            wish.goOn((try? result.get()) ?? Proofs())
            self?.proveNext(hosts)
        }
    }

    private func proveNext(_ hosts: String) {
        while let wish = waiting[hosts]?.popFirst() {
            if wish.isWanted() { return prove(wish, hosts) }
        }
        waiting[hosts] = nil
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
