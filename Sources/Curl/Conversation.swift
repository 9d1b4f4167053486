internal import Engine
internal import Semantics

/// The requests that libcurl makes of one attempt to prove a credential by NTLM (MS-NTHT), and
/// which of the answers may not be the last one.
///
/// libcurl decides between an answer's head and its body whether it goes on, without a word: a head
/// is the last one unless another request follows it.
struct Conversation {
    /// More requests than are needed: a server may ask again for ever.
    private static let requestLimit = 16

    static let endless = "The server goes on asking for the credential that it was given."

    /// Whether there may be more than one.
    let needsAnswers: Bool
    /// libcurl begins such a conversation with an empty body, so as to send the real one once.
    private let beginsEmpty: Bool
    private var requestCount = 0

    init(_ request: AttemptRequest) {
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
}
