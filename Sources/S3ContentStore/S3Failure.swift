internal import Engine
internal import Files
internal import Glibc

/// Why S3 has not done what it was asked for.
struct S3Failure: Error, Sendable {
    enum Kind: Sendable {
        /// Not reached, not answered, or asked to come back later: the same request may succeed.
        case away
        /// The gateway stops, or nobody waits for it any more.
        case stopped
        /// The bucket, the credentials or the clock are not as they must be: the same request may
        /// succeed once an operator has mended that.
        case unusable
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
    ///
    /// - Parameters:
    ///   - operation: S3's name of the request.
    ///   - answer: its answer.
    ///   - isOfBucket: whether it was about no object: then only the bucket can be missing.
    init(_ operation: String, _ answer: S3Answer, isOfBucket: Bool = false) {
        let error = answer.error
        self.operation = operation
        code = error.map(Self.code(of:)) ?? ""
        status = answer.status
        message = error?.text(of: "Message") ?? "It answers with \(answer.status)."
        // 501 does not pass by itself: some servers copy no parts.
        let isForLater =
            Self.passing.contains(code) || answer.status == 429
            || answer.status >= 500 && answer.status != 501
        kind =
            switch answer.status {
            case _ where isForLater: .away
            case _ where Self.mendable.contains(code): .unusable
            case 401, 403: .denied
            case 404: isOfBucket ? .unusable : .missing
            case 412: .changed
            default: .refused
            }
    }

    /// What S3 says of one object of many.
    init(_ operation: String, ofOneObject error: XMLElement) {
        self.operation = operation
        code = Self.code(of: error)
        message = error.text(of: "Message") ?? "An object stays."
        kind =
            switch code {
            case _ where Self.passing.contains(code): .away
            case _ where Self.mendable.contains(code): .unusable
            case "AccessDenied": .denied
            case "NoSuchKey", "NoSuchVersion": .missing
            default: .refused
            }
        status = 200
    }

    /// S3's word in an error, as far as it looks like one.
    private static func code(of error: XMLElement) -> String {
        String((error.text(of: "Code") ?? "").filter { $0.isASCII && $0.isLetter }.prefix(60))
    }

    /// Codes of S3 for what passes by itself, whatever the status is.
    private static let passing: Set = [
        "SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "Throttling",
        "ThrottlingException", "RequestLimitExceeded", "OperationAborted",
    ]

    /// Codes of S3 for what an operator mends, whatever the status is: the transfers wait for it.
    private static let mendable: Set = outdated.union(["NoSuchBucket", "RequestTimeTooSkewed"])

    /// A code of our own: there are no credentials, as the message says.
    static let withoutCredentials = "NoCredentials"

    /// Codes for credentials that may have been renewed meanwhile.
    private static let outdated: Set = [
        "ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "TokenRefreshRequired",
        "SignatureDoesNotMatch",
    ]

    /// Whether other credentials might do.
    var isOfCredentials: Bool { Self.outdated.contains(code) || isUntold }

    /// Whether the answer may be about credentials, and does not say so: one to a HEAD has no body.
    var isUntold: Bool { code.isEmpty && [400, 401, 403].contains(status) }

    /// The failure as the engine knows failures of files.
    var fileError: FileError {
        let words = status == 0 ? operation : "\(operation) \(status) \(code)"
        let number: CInt =
            switch kind {
            case .away, .unusable: EHOSTDOWN
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
