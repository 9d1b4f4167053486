/// Whether, when and how often an attempt that failed is made again, as a client asks for it with a
/// task.
public struct RetryPolicy: Hashable, Sendable {
    /// How many attempts there may be after the first.
    public let attempts: Int
    /// Statuses that count as a failure; others are responses like any other (S-49).
    public let statuses: [Int]
    /// Seconds before the first further attempt.
    public let initial: Double
    /// Seconds that no delay of the policy's own exceeds.
    public let maximum: Double
    /// What each delay is of the one before.
    public let multiplier: Double
    /// Whether a response's `Retry-After` puts the next attempt off.
    public let respectsRetryAfter: Bool
    /// Whether requests are sent again that may do something twice.
    public let allowsNonIdempotent: Bool

    /// What `attempts` may be.
    public static let attemptRange = 1...100
    /// What `statuses` may have: errors, of the client as of the server.
    public static let statusRange = 400...599
    /// What `initial` and `maximum` may be, in seconds: up to a day.
    public static let delayRange = 0.0...86_400
    /// What `multiplier` may be.
    public static let multiplierRange = 1.0...100
    /// The statuses that tell of a passing trouble, as curl's `--retry` has them.
    public static let transientStatuses = [408, 429, 500, 502, 503, 504]

    /// A policy from its parts.
    ///
    /// - Throws: the first part that is out of its range.
    public init(
        attempts: Int, statuses: [Int] = transientStatuses, initial: Double = 1,
        maximum: Double = 60, multiplier: Double = 2, respectsRetryAfter: Bool = true,
        allowsNonIdempotent: Bool = false
    ) throws(Violation) {
        guard Self.attemptRange.contains(attempts) else { throw .attempts }
        guard statuses.count <= Self.statusRange.count else { throw .statuses }
        if let index = statuses.firstIndex(where: { !Self.statusRange.contains($0) }) {
            throw .status(index: index)
        }
        guard Self.delayRange.contains(initial) else { throw .initial }
        guard Self.delayRange.contains(maximum), maximum >= initial else { throw .maximum }
        guard Self.multiplierRange.contains(multiplier) else { throw .multiplier }
        self.attempts = attempts
        self.statuses = statuses
        self.initial = initial
        self.maximum = maximum
        self.multiplier = multiplier
        self.respectsRetryAfter = respectsRetryAfter
        self.allowsNonIdempotent = allowsNonIdempotent
    }

    /// Which part of a policy is out of its range.
    public enum Violation: Error, Hashable, Sendable {
        case attempts
        /// More than there are.
        case statuses
        /// The one at `index`.
        case status(index: Int)
        case initial
        /// Out of range, or less than `initial`.
        case maximum
        case multiplier

        /// One sentence for the client.
        public var sentence: String {
            switch self {
            case .attempts: "There may be 1 to 100 further attempts."
            case .statuses: "There may be up to 200 statuses to retry."
            case .status: "A status to retry is an error's: 400 to 599."
            case .initial: "The first delay is 0 to 86400 seconds."
            case .maximum: "The longest delay is at least the first, and at most 86400 seconds."
            case .multiplier: "The multiplier of the delays is 1 to 100."
            }
        }
    }
}

extension RetryPolicy {
    /// Whether a request of this method may be sent again.
    ///
    /// The idempotent methods of RFC 9110 §9.2.2 do the same twice as once; others only where the
    /// client says so.
    public func mayRetry(method: String) -> Bool {
        allowsNonIdempotent || Self.isIdempotent(method)
    }

    /// Whether a request of this method does the same twice as once (RFC 9110 §9.2.2).
    public static func isIdempotent(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE": true
        default: false
        }
    }

    /// Whether a response of this status is a failure to the policy.
    public func retries(status: Int) -> Bool { statuses.contains(status) }

    /// Whether an error may have passed by the next attempt.
    ///
    /// A timeout counts: whoever ends a task by its resource timer (S-17) does not ask, for there
    /// is no time left.
    public func retries(_ error: TransferError) -> Bool { Self.mayPass(error) }

    /// Whether an error may have passed by the next attempt, whatever a policy says.
    public static func mayPass(_ error: TransferError) -> Bool {
        switch error.kind {
        case .url(let code): isTransient(code)
        // A policy and a digest stay what they are.
        case .ferry: false
        }
    }

    /// How long to wait before a further attempt.
    ///
    /// Exponential back-off: the upper half of each delay is left to chance, so that clients that
    /// failed together do not come back together.
    ///
    /// - Parameters:
    ///   - retry: which further attempt, 1…100.
    ///   - jitter: chance, from 0 to below 1.
    ///   - retryAfter: what the response asks for; nil where there was none. Where the policy
    ///     respects it, the attempt comes that much later at least, and chance is added to it, also
    ///     beyond `maximum`.
    /// - Returns: half of the step's delay at least, and less than all of it where nothing is asked
    ///   for.
    public func delay(
        beforeRetry retry: Int, jitter: Double, retryAfter: Duration? = nil
    ) -> Duration {
        precondition(jitter >= 0 && jitter < 1, "Jitter is from 0 to below 1.")
        precondition(Self.attemptRange.contains(retry), "Further attempts are counted from 1.")
        var delay = initial
        for _ in 1..<retry { delay = min(delay * multiplier, maximum) }
        let half = Duration.seconds(delay / 2)
        let asked = respectsRetryAfter ? retryAfter ?? .zero : .zero
        return max(half, asked) + half * jitter
    }

    private static func isTransient(_ code: URLErrorCode) -> Bool {
        switch code {
        // The way to the server was interrupted, or is not there yet: a resolver that gave up, a
        // server that starts again, a cable, a full network.
        case .timedOut, .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed,
            .networkConnectionLost, .notConnectedToInternet:
            true
        // Somebody wanted the end, or the gateway itself has stopped (S-33, S-56).
        case .cancelled, .userCancelledAuthentication, .backgroundSessionWasDisconnected,
            .backgroundSessionInUseByAnotherProcess, .backgroundSessionRequiresSharedContainer:
            false
        // The request, or where it leads, is wrong as it is.
        case .badURL, .unsupportedURL, .httpTooManyRedirects, .redirectToNonExistentLocation,
            .resourceUnavailable, .userAuthenticationRequired,
            .appTransportSecurityRequiresSecureConnection, .cannotLoadFromNetwork,
            .requestBodyStreamExhausted, .dataLengthExceedsMaximum:
            false
        // A server that contradicts the protocol, its own fields or its coding does so again, and
        // what it sent so far may be an attack: nothing to repeat until it gets through.
        case .badServerResponse, .cannotParseResponse, .zeroByteResource, .cannotDecodeRawData,
            .cannotDecodeContentData, .downloadDecodingFailedMidStream,
            .downloadDecodingFailedToComplete:
            false
        // No trust comes from asking again.
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
            .clientCertificateRejected, .clientCertificateRequired:
            false
        // The gateway's own disk.
        case .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile, .fileOutsideSafeArea,
            .cannotCreateFile, .cannotOpenFile, .cannotCloseFile, .cannotWriteToFile,
            .cannotRemoveFile, .cannotMoveFile:
            false
        case .unknown: false
        }
    }
}
