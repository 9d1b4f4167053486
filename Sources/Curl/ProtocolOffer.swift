internal import Engine
internal import Loop
internal import Semantics

/// The versions of HTTP that an attempt offers to a server, where the scheme is https (RFC 7301).
///
/// Of HTTP/2 only what neither rests nor sends a body goes on a connection that others share. A
/// stream of libcurl's that rests does not stop its socket, and an answer that comes while a body
/// is being sent is lost in part or as a whole, if the server then resets the stream (measured,
/// 7.88.1; RFC 9113 §8.1 has it taken).
enum ProtocolOffer {
    /// HTTP/1.1, on a connection of its own.
    case http1
    /// HTTP/2 or, where the server does not have it, HTTP/1.1.
    case shared
    /// The same on a connection of its own, for an origin that has nothing but HTTP/2.
    case http2Apart

    @LoopActor
    init(_ request: AttemptRequest, _ origins: OriginBook) {
        guard request.url.isSecure, !request.needsHTTP1 else {
            self = .http1
            return
        }
        let sendsBody = request.body != nil || RequestHeader.impliedBody(request.method) != nil
        guard request.mayPause || sendsBody else {
            self = .shared
            return
        }
        self = origins.hasOnlyHTTP2(request.url.origin) ? .http2Apart : .http1
    }
}

extension AttemptRequest {
    /// Whether what is proved is about the connection (see `CredentialOptions`).
    var needsHTTP1: Bool {
        [credential, httpProxy == nil ? nil : proxyCredential].contains {
            $0?.scheme == .ntlm || $0?.scheme == .negotiate
        }
    }
}

/// What a session's connections have shown of origins.
@LoopActor
final class OriginBook {
    private static let limit = 1000

    private var onlyHTTP2: Set<WebURL.Origin> = []

    func hasOnlyHTTP2(_ origin: WebURL.Origin) -> Bool { onlyHTTP2.contains(origin) }

    func note(_ origin: WebURL.Origin, hasOnlyHTTP2: Bool) {
        if !hasOnlyHTTP2 {
            onlyHTTP2.remove(origin)
        } else if onlyHTTP2.count < Self.limit {
            onlyHTTP2.insert(origin)
        }
    }
}
