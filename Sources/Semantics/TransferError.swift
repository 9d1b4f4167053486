/// Why a transfer failed: an NSURLError as a value (S-61).
///
/// It is part of a task's outcome. HTTP statuses are never errors (S-49).
public struct TransferError: Error, Hashable, Sendable {
    /// Domain and code.
    public let kind: Kind
    /// One sentence for a person.
    public let message: String
    /// The URL that was being loaded (`NSURLErrorFailingURLStringErrorKey`); never set for a denied
    /// destination.
    public let failingURL: String?
    /// What the layer below said, in its own words; nil where there is none. Never set for a denied
    /// destination.
    public let underlying: Underlying?
    /// Further members of NSError's user info, by their Foundation names.
    public let userInfo: [String: UserInfoValue]

    /// An error from its parts; `message` is the code's own sentence unless given.
    ///
    /// A denied destination keeps neither URL nor underlying words, so that every denial looks the
    /// same to a client and none tells an address.
    public init(
        _ kind: Kind, at failingURL: String? = nil, message: String? = nil,
        underlying: Underlying? = nil,
        userInfo: [String: UserInfoValue] = [:]
    ) {
        let isDenial = kind == .ferry(.destinationDenied)
        self.kind = kind
        self.message = isDenial ? kind.sentence : message ?? kind.sentence
        self.failingURL = isDenial ? nil : failingURL
        self.underlying = isDenial ? nil : underlying
        self.userInfo = isDenial ? [:] : userInfo
    }

    /// `NSURLErrorDomain` or `FerryErrorDomain`.
    public var domain: String { kind.domain }
    /// The number within the domain.
    public var code: Int { kind.code }
    /// The name of the code, such as `cannotFindHost`.
    public var name: String { kind.name }

    /// The same error with a URL, where it has none yet.
    public func at(_ url: String) -> TransferError {
        failingURL == nil ? replacing(failingURL: url) : self
    }

    /// The same error with one more member of user info.
    public func adding(_ value: UserInfoValue, for key: String) -> TransferError {
        replacing(userInfo: userInfo.merging([key: value]) { $1 })
    }

    private func replacing(
        failingURL: String? = nil, userInfo: [String: UserInfoValue]? = nil
    ) -> TransferError {
        TransferError(
            kind, at: failingURL ?? self.failingURL, message: message, underlying: underlying,
            userInfo: userInfo ?? self.userInfo)
    }

    /// What went wrong, without its circumstances.
    public enum Kind: Hashable, Sendable {
        case url(URLErrorCode)
        case ferry(FerryErrorCode)

        /// The kind with this domain and number; nil for one that does not exist.
        public init?(domain: String, code: Int) {
            let kind: Kind? =
                switch domain {
                case Self.urlDomain: URLErrorCode(rawValue: code).map(Kind.url)
                case Self.ferryDomain: FerryErrorCode(rawValue: code).map(Kind.ferry)
                default: nil
                }
            guard let kind else { return nil }
            self = kind
        }

        /// `NSURLErrorDomain` or `FerryErrorDomain`.
        public var domain: String {
            switch self {
            case .url: Self.urlDomain
            case .ferry: Self.ferryDomain
            }
        }

        /// The number within the domain.
        public var code: Int {
            switch self {
            case .url(let code): code.rawValue
            case .ferry(let code): code.rawValue
            }
        }

        /// The name of the code, such as `cannotFindHost`.
        public var name: String {
            switch self {
            case .url(let code): code.name
            case .ferry(let code): code.name
            }
        }

        /// One sentence for a person.
        public var sentence: String {
            switch self {
            case .url(let code): code.sentence
            case .ferry(let code): code.sentence
            }
        }

        private static let urlDomain = "NSURLErrorDomain"
        private static let ferryDomain = "FerryErrorDomain"
    }

    /// What a lower layer reported.
    public struct Underlying: Hashable, Sendable {
        /// Which layer's code it is.
        public enum Layer: String, Sendable {
            /// A CURLcode.
            case curl
            /// An `X509_V_ERR_…` of OpenSSL.
            case tls
            /// An `errno`.
            case system
        }

        /// Which layer's code it is.
        public let layer: Layer
        /// The layer's own number.
        public let code: Int
        /// The layer's own words.
        public let message: String

        /// A report as it came.
        public init(layer: Layer, code: Int, message: String) {
            self.layer = layer
            self.code = code
            self.message = message
        }
    }

    /// A value of user info.
    public enum UserInfoValue: Hashable, Sendable {
        case string(String)
        case integer(Int)
    }
}

extension TransferError {
    /// An error of `NSURLErrorDomain`.
    public static func url(
        _ code: URLErrorCode, at url: String? = nil, message: String? = nil,
        underlying: Underlying? = nil
    ) -> TransferError {
        TransferError(.url(code), at: url, message: message, underlying: underlying)
    }

    /// The policy forbids the destination: always the same value.
    public static let destinationDenied = TransferError(.ferry(.destinationDenied))

    /// The content's digest is not `expectedDigest`.
    public static func digestMismatch(
        expected: ContentDigest, actual: ContentDigest
    ) -> TransferError {
        TransferError(
            .ferry(.digestMismatch),
            message: "The content has the digest \(actual), not \(expected) as expected.")
    }

    /// S-33.
    public static let cancelled = TransferError(.url(.cancelled))

    /// S-33, with why the operator has ended the task, if it was the operator (S-55).
    public static func cancelled(because reason: BackgroundCancellation?) -> TransferError {
        guard let reason else { return cancelled }
        return cancelled.adding(.integer(reason.rawValue), for: cancellationReasonKey)
    }

    private static let cancellationReasonKey = "NSURLErrorBackgroundTaskCancelledReasonKey"

    /// Whether somebody has ended the task: -999.
    public var isCancellation: Bool { kind == .url(.cancelled) }

    /// S-16, S-17: names the timer that ran out.
    public static func timedOut(_ timer: TimeoutClock.Timer) -> TransferError {
        let message =
            switch timer {
            case .request: "The request timed out: nothing was transferred for too long."
            case .resource: "The request timed out: the whole task took too long."
            }
        return .url(.timedOut, message: message)
    }

    /// The gateway's disk does not take the content; `words` are the system's.
    public static func cannotWrite(_ words: String, at url: String? = nil) -> TransferError {
        .url(.cannotWriteToFile, at: url, message: "The content cannot be written: \(words).")
    }

    /// The connection ended before there was an answer: nothing of one, or not all of its header.
    public static let unanswered = TransferError.url(
        .networkConnectionLost, message: "The server closed the connection before it answered.")

    /// S-56: the gateway stopped or died during an attempt.
    public static let disconnected = TransferError(.url(.backgroundSessionWasDisconnected))

    /// the answer contradicts the protocol or what was asked; `detail` is one sentence.
    public static func badServerResponse(_ detail: String) -> TransferError {
        .url(.badServerResponse, message: detail)
    }
}
