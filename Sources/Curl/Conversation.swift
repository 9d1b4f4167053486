internal import Engine
internal import Semantics

/// The requests that go out within one attempt: more than one where libcurl proves a credential by
/// NTLM (MS-NTHT), and where a connection that was kept turns out to be dead.
///
/// libcurl decides between an answer's head and its body whether it goes on, without a word: a head
/// is the last one unless another request follows it. On a connection that was dead it sends the
/// request again, also without a word, whatever its method; of HTTP/2 it gives up instead. So that
/// is decided here: what may do something twice goes out once, unless nothing of it had left
/// (RFC 9110 §9.2.2, R-13).
struct Conversation {
    /// More requests than are needed: a server may ask again for ever.
    private static let requestLimit = 16

    static let endless = "The server goes on asking for the credential that it was given."

    /// Whether there may be more than one to prove a credential.
    let needsAnswers: Bool
    /// libcurl begins such a conversation with an empty body, so as to send the real one once.
    private let beginsEmpty: Bool
    private var requestCount = 0
    private let mayRepeat: Bool
    /// The request has been sent again already, in another transfer.
    private var isRepetition = false

    init(_ request: AttemptRequest) {
        mayRepeat = request.mayRepeat
        let proxyCredential = request.httpProxy == nil ? nil : request.proxyCredential
        needsAnswers = [request.credential, proxyCredential].contains {
            $0?.scheme == .ntlm
        }
        let body = request.body ?? RequestHeader.impliedBody(request.method)
        beginsEmpty = needsAnswers && body != nil && request.method != "HEAD"
    }

    /// A request is about to go out.
    /// - Returns: false for one too many.
    mutating func begin() -> Bool {
        guard needsAnswers else { return true }
        requestCount += 1
        return requestCount <= Self.requestLimit
    }

    /// Whether libcurl may send another request when it has this answer.
    func mayGoOn(after head: ResponseHead) -> Bool {
        guard needsAnswers else { return false }
        if head.status == 401 || head.status == 407 { return true }
        return beginsEmpty && requestCount == 1 && head.status < 300
    }

    /// Whether the request may go out behind one of which something has left, or not, and which had
    /// no answer.
    func mayFollow(hasLeft: Bool) -> Bool { mayRepeat || !hasLeft }

    /// Whether the request goes out again in another transfer, now that libcurl has given it up
    /// without an answer: on a connection that was kept, and once only. Of HTTP/2 libcurl does not
    /// look at the GOAWAY that tells this (RFC 9113 §6.8).
    mutating func repeats(onReused isReused: Bool, hasLeft: Bool) -> Bool {
        guard isReused, !isRepetition, mayFollow(hasLeft: hasLeft) else { return false }
        isRepetition = true
        return true
    }
}
