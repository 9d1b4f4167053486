internal import Engine
internal import Semantics

/// What a proxy answers to CONNECT (RFC 9110 §9.3.6): libcurl hands it to the same callback as the origin's header.
struct Tunnel {
    /// Whether the next answer is the proxy's: from the connection to the proxy up to the first request through it.
    private(set) var isOpening = false

    private let isNeeded: Bool
    private var reader = ResponseHeadReader()
    private var isComplete = false
    private var answer: (head: ResponseHead, requestSize: Int)?

    init(_ request: AttemptRequest) {
        isNeeded = request.httpProxy != nil && request.url.isSecure
    }

    /// A connection is made.
    mutating func connects() {
        isOpening = isNeeded
        beginAnswer()
    }

    /// A request is about to go through.
    mutating func isOpen() {
        isOpening = false
        answer = nil
    }

    /// Takes one line of an answer to CONNECT; `requestSize` is how many bytes libcurl has sent until now.
    ///
    /// - Returns: why the attempt cannot go on, if so.
    mutating func take(_ line: UnsafeRawBufferPointer, requestSize: Int) -> String? {
        // libcurl goes on with another CONNECT where it has a credential.
        if isComplete, line.starts(with: "HTTP/".utf8) { beginAnswer() }
        switch reader.take(line) {
        case .more, .informational: break
        case .final(let head):
            isComplete = true
            answer = (head, requestSize)
        case .malformed(let sentence): return "The proxy's answer is not valid: " + sentence
        }
        return nil
    }

    private mutating func beginAnswer() {
        reader = ResponseHeadReader()
        isComplete = false
        answer = nil
    }

    /// What the proxy has answered in place of making a tunnel; nil where it has not answered the last CONNECT.
    func refusal(requestSize: Int) -> ResponseHead? {
        guard isOpening, let answer, answer.requestSize == requestSize,
            !(200..<300).contains(answer.head.status)
        else { return nil }
        return answer.head
    }

    /// The error of an attempt that ends there.
    static func error(of refusal: ResponseHead, at url: String) -> TransferError {
        guard refusal.status != 407 else {
            return .url(
                .userAuthenticationRequired, at: url, message: "The proxy asks for a credential.")
        }
        return .url(
            .cannotConnectToHost, at: url,
            message: "The proxy refuses to make a tunnel, with the status \(refusal.status).")
    }
}
