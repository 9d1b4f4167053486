internal import Engine
internal import Glibc
internal import Loop

/// Why S3 has not done what it was asked for.
struct S3Failure: Error, Sendable {
    enum Kind: Sendable {
        /// Not reached, not answered, or asked to come back later: the same request may succeed.
        case away
        /// The gateway stops.
        case stopped
        /// 401, 403.
        case denied
        /// 404.
        case missing
        /// 412: the object is another one by now.
        case changed
        /// Another answer, or one that makes no sense.
        case refused
    }

    let operation: String
    let kind: Kind
    /// The status of the answer; 0 without one.
    var status = 0
    /// S3's own word for it: `AccessDenied`.
    var code = ""
    /// S3's sentence, or the transport's.
    var message = ""

    init(_ operation: String, _ kind: Kind, _ message: String = "") {
        self.operation = operation
        self.kind = kind
        self.message = message
    }

    /// What an answer that is none of success means, or one of success with an error as its body.
    /// <https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>
    init(_ operation: String, _ answer: S3Answer) {
        let error = answer.error
        let code = error?.text(of: "Code") ?? ""
        self.operation = operation
        self.code = String(code.filter { $0.isASCII && $0.isLetter }.prefix(60))
        status = answer.status
        message = error?.text(of: "Message") ?? "It answers with \(answer.status)."
        // 501 does not pass by itself: some servers copy no parts.
        let isForLater =
            Self.passing.contains(code) || answer.status == 429
            || answer.status >= 500 && answer.status != 501
        kind =
            switch answer.status {
            case _ where isForLater: .away
            case 401, 403: .denied
            case 404: .missing
            case 412: .changed
            default: .refused
            }
    }

    /// Codes of S3 for what passes by itself, whatever the status is.
    private static let passing: Set = [
        "SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "Throttling",
        "ThrottlingException", "RequestLimitExceeded", "OperationAborted",
    ]

    /// A code of our own: there are no credentials, as the message says.
    static let withoutCredentials = "NoCredentials"

    /// Codes for credentials that may have been renewed meanwhile.
    private static let outdated: Set = [
        "ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "TokenRefreshRequired",
        "SignatureDoesNotMatch",
    ]

    /// Whether other credentials might do.
    var isOfCredentials: Bool {
        // A HEAD's answer has no code.
        kind == .denied && (code.isEmpty || Self.outdated.contains(code))
    }

    /// The failure as the engine knows failures of files.
    var fileError: FileError {
        let words = status == 0 ? operation : "\(operation) \(status) \(code)"
        let number: CInt =
            switch kind {
            case .away: EHOSTDOWN
            case .stopped: ECANCELED
            case .denied: EACCES
            case .missing: ENOENT
            case .changed: ESTALE
            case .refused: EREMOTEIO
            }
        return FileError(words.hasSuffix(" ") ? String(words.dropLast()) : words, code: number)
    }

    /// A sentence for an operator whose gateway does not start.
    func sentence(about location: S3Location) -> String {
        guard code != Self.withoutCredentials else { return message }
        let start = "The contents at \(location.place) cannot be used: "
        let said = code.isEmpty ? message : "\(code): \(message)"
        let remedy =
            switch (kind, code) {
            case (.away, _): "see that \(location.host) can be reached."
            case (_, "NoSuchBucket"): "make the bucket \(location.bucket), or name another one."
            case (_, "InvalidAccessKeyId"), (_, "SignatureDoesNotMatch"), (_, "ExpiredToken"),
                (_, "InvalidToken"):
                "correct the credentials, in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or in their file."
            case (_, "RequestTimeTooSkewed"): "set this machine's clock."
            case (_, "PermanentRedirect"), (_, "AuthorizationHeaderMalformed"),
                (_, "IllegalLocationConstraintException"):
                "name the bucket's region, as in \(location.place)?region=eu-central-1."
            case (.denied, _):
                "let these credentials read, write, list and delete below \(location.place)."
            default: "look at the bucket, the endpoint and the region."
            }
        return "\(start)\(said) To mend it, \(remedy)"
    }
}
