/// A member that every task is shown with (`TaskMember` of openapi.yaml), in the order of being
/// shown.
package enum TaskMember: String, CaseIterable, Sendable {
    case id, session, number, type, state, suspendCount, waitingFor, nextAttemptAt,
        isDiscretionary, priority, description, metadata, traceparent, createdAt, startedAt,
        completedAt, delivery, fileName, expectedDigest, computeDigest, earliestBeginDate,
        countOfBytesClientExpectsToSend, countOfBytesClientExpectsToReceive,
        maximumBytesPerSecond, connections, destination, mirrors, retry, originalRequest,
        currentRequest, response, countOfBytesReceived, countOfBytesExpectedToReceive,
        countOfBytesSent, countOfBytesExpectedToSend, bodyGeneration, becameTask, retryOf,
        progress, content, error, metrics, links

    /// All of them; `allCases` makes an array each time.
    package static let all = allCases
}
