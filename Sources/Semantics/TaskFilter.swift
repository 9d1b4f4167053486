internal import Syntax

/// What tasks are searched for, beside session, state and type: a task must fit all of it.
public struct TaskFilter: Equatable, Sendable {
    /// What URL, description or file name has in it.
    public var text: SearchText?
    /// The host of the original request, in lower case and without brackets.
    public var host: String?
    /// Only tasks that were created later.
    public var createdAfter: Timestamp?
    /// Only tasks that were created earlier.
    public var createdBefore: Timestamp?
    /// Whether the task has an error.
    public var hasError: Bool?
    /// What the task's metadata has among others.
    public var metadata: [String: String] = [:]

    /// Every task fits.
    public init() {}

    /// Whether every task fits.
    public var isEmpty: Bool { self == TaskFilter() }

    /// Whether a task is searched for.
    public func fits(_ task: TaskRecord) -> Bool { isEmpty || fits(SearchedTask(task)) }

    /// Whether a task is searched for.
    public func fits(_ task: SearchedTask) -> Bool {
        if let hasError, task.hasError != hasError { return false }
        if let createdAfter, task.createdAt <= createdAfter { return false }
        if let createdBefore, task.createdAt >= createdBefore { return false }
        if let host, !task.host.equalsIgnoringCase(host) { return false }
        guard Metadata.isIn(task.metadata, metadata) else { return false }
        guard let text else { return true }
        return text.isInURL(task.url)
            || [task.description, task.fileName, task.suggestedFilename]
                .contains { $0.map(text.isIn) ?? false }
    }
}

/// What of a task a filter looks at.
public struct SearchedTask: Equatable, Sendable {
    /// The original request's URL.
    public var url = ""
    /// Its host.
    public var host = ""
    /// A client's own words.
    public var description: String?
    /// The name that a client has given the content.
    public var fileName: String?
    /// The name that the origin has given it.
    public var suggestedFilename: String?
    /// By the wall clock.
    public var createdAt: Timestamp
    /// Whether the task has failed.
    public var hasError = false
    /// What clients keep with the task.
    public var metadata: [String: String] = [:]

    /// A task of which only this is known.
    public init(createdAt: Timestamp) { self.createdAt = createdAt }

    /// What a filter looks at of a whole task.
    public init(_ task: TaskRecord) {
        url = task.originalRequest.url.string
        host = task.originalRequest.url.host
        description = task.options.description
        fileName = task.options.fileName
        suggestedFilename = task.response?.suggestedFilename
        createdAt = task.createdAt
        hasError = task.error != nil
        metadata = task.options.metadata
    }
}

/// A text that is searched for in others, whatever the case of letters.
public struct SearchText: Equatable, Sendable {
    /// The most bytes that are searched for, as UTF-8.
    public static let byteLimit = 1024

    private let text: String
    /// Its bytes in lower case, where it is of ASCII.
    private let bytes: [UInt8]?

    /// A text as somebody has typed it; an empty one is in every text.
    public init(_ text: String) {
        self.text = text.lowercased()
        bytes = text.utf8.allSatisfy { $0 < 0x80 } ? text.utf8.map(Octets.lowercased) : nil
    }

    /// Whether it is in another one.
    public func isIn(_ other: String) -> Bool {
        guard let bytes else { return other.lowercased().contains(text) }
        return other.utf8Span.span.withUnsafeBytes { SearchText.finds(bytes, in: $0) }
    }

    /// Whether it is in a URL, as that is written or with its percent escapes decoded.
    public func isInURL(_ url: String) -> Bool {
        if isIn(url) { return true }
        guard url.utf8.contains(Octets.percent), let decoded = PercentCoding.bytes(of: url) else {
            return false
        }
        return isIn(String(decoding: decoded, as: UTF8.self))
    }

    private static func finds(_ wanted: [UInt8], in bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = wanted.first else { return true }
        guard wanted.count <= bytes.count else { return false }
        for start in 0...bytes.count - wanted.count
        where Octets.lowercased(bytes[start]) == first {
            var length = 1
            while length < wanted.count,
                Octets.lowercased(bytes[start + length]) == wanted[length]
            {
                length += 1
            }
            if length == wanted.count { return true }
        }
        return false
    }
}
