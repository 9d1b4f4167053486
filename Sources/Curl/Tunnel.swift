internal import Engine
internal import Semantics

/// What a proxy answers to CONNECT (RFC 9110 §9.3.6): libcurl hands it to the same callback as the
/// origin's header.
///
/// libcurl reads it byte by byte, with a system call for each, and all that has come in one turn of
/// the loop: of a body without end it would never return. So a refusal is judged at the end of its
/// head, and all that is read for one tunnel is limited.
struct Tunnel {
    /// What a line has led to.
    enum Step {
        case more
        /// The proxy makes no tunnel: the attempt is over (see `refusal`).
        case refused
        /// The attempt cannot go on; one sentence.
        case malformed(String)
    }

    /// Bytes that are read of a proxy's answers: a system call for each. Where libcurl goes on with
    /// another CONNECT behind a 407, its body is among them.
    private static let byteLimit = 16 << 10

    /// Whether the next answer is the proxy's: from the connection to the proxy up to the first
    /// request through it.
    private(set) var isOpening = false

    private let isNeeded: Bool
    /// Whether libcurl has something to say to a 407: it reads its body first.
    private let isConversation: Bool
    private var reader = ResponseHeadReader()
    private var isComplete = false
    private var answer: (head: ResponseHead, requestSize: Int)?
    private var stepCount = 0

    init(_ request: AttemptRequest) {
        isNeeded = Self.isNeeded(for: request)
        isConversation = request.proxyCredential?.scheme == .ntlm
    }

    static func isNeeded(for request: AttemptRequest) -> Bool {
        request.httpProxy != nil && request.url.isSecure
    }

    /// A connection is made.
    mutating func connects() {
        isOpening = isNeeded
        stepCount = 0
        beginAnswer()
    }

    /// A request is about to go through.
    mutating func isOpen() {
        isOpening = false
        answer = nil
    }

    /// CURLOPT_XFERINFOFUNCTION: while the tunnel is being made libcurl calls it for each byte of
    /// an answer.
    /// - Returns: false for one too many.
    mutating func mayReadOn() -> Bool {
        guard isOpening else { return true }
        stepCount += 1
        return stepCount <= Self.byteLimit
    }

    /// Takes one line of an answer to CONNECT; `requestSize` is how many bytes libcurl has sent
    /// until now.
    mutating func take(_ line: UnsafeRawBufferPointer, requestSize: Int) -> Step {
        // libcurl goes on with another CONNECT where it has a credential.
        if isComplete, line.starts(with: "HTTP/".utf8) { beginAnswer() }
        switch reader.take(line) {
        case .more, .informational: return .more
        case .final(let head):
            isComplete = true
            answer = (head, requestSize)
            let isFollowed = head.status == 407 && isConversation
            return (200..<300).contains(head.status) || isFollowed ? .more : .refused
        case .malformed(let sentence):
            return .malformed("The proxy's answer is not valid: " + sentence)
        }
    }

    private mutating func beginAnswer() {
        reader = ResponseHeadReader()
        isComplete = false
        answer = nil
    }

    /// What the proxy has answered in place of making a tunnel; nil where it has not answered the
    /// last CONNECT.
    func refusal(requestSize: Int) -> ResponseHead? {
        guard isOpening, let answer, answer.requestSize == requestSize,
            !(200..<300).contains(answer.head.status)
        else { return nil }
        return answer.head
    }

    /// Why the tunnel cannot be made, where the proxy has not refused it; one sentence.
    var fault: String? {
        guard isOpening, stepCount > Self.byteLimit else { return nil }
        return "The proxy's answer to CONNECT is longer than \(Self.byteLimit) bytes."
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
