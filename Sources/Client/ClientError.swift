internal import Glibc
internal import JSON

/// Why a command did not do what it was asked.
public indirect enum ClientError: Error, Equatable, Sendable {
    /// What the user gave cannot be used: an address, a header, a token.
    case badArgument(String)
    /// No gateway was named and none has left its address on this machine.
    case noGateway
    /// An address is known, but no token for it.
    case noToken(gateway: String)
    /// A private gateway could not be started.
    case noStart(detail: String)
    /// No answer came from the gateway; the detail is libcurl's.
    case unreachable(gateway: String, detail: String)
    /// An https gateway was not asked, because it is not known to be the one that was meant.
    case untrusted(gateway: String, GatewayDistrust)
    /// The gateway is none of several that share a database.
    case noNode(gateway: String)
    /// A node cannot hand its tenants over.
    case cannotDrain(String)
    /// The gateway refused with problem+json (RFC 9457).
    case refused(ProblemDetails)
    /// The gateway answered with something that is not of its contract.
    case unexpectedAnswer(String)
    /// The transfer ended with an NSURLError (rule S-61).
    case transferFailed(TransferFailure)
    /// The origin answered with a status of 400 or more: a response, not an error (rule S-49), but
    /// not what a command that fetches was asked for.
    case serverAnswered(status: Int)
    /// The origin, or with 407 the proxy, answered that it does not take the user name or the
    /// password that it was shown.
    case loginRefused(status: Int)
    /// The file to write is there already.
    case fileExists(path: String)
    /// A file could not be read or written; the detail is the system's.
    case file(path: String, detail: String)
    /// The file to send could not be read, or has changed meanwhile.
    case unreadable(path: String, detail: String)
    /// The command that the user wanted to be run for a file has failed.
    case commandFailed(command: String, file: String, status: Int32)
    /// It ended for that reason, but the same command will go on where this one has stopped.
    case resumable(ClientError)
    /// The user pressed Ctrl-C, or the process was asked to end.
    case interrupted
}

extension ClientError: CustomStringConvertible {
    /// One line for people, without a final full stop and without control characters.
    public var description: String {
        DisplayText.line(text)
    }

    private var text: String {
        switch self {
        case .badArgument(let detail): detail
        case .noGateway: "no gateway is running here: start one with `ferry serve`"
        case .noToken(let gateway):
            "no token for \(gateway): set FERRY_TOKEN or give --token-file"
        case .noStart(let detail): "no gateway could be started for this: \(detail)"
        case .commandFailed(let command, let file, let status):
            "\(file) is there, but `\(command)` has ended with \(status)"
        case .unreachable(let gateway, let detail): "no answer from \(gateway): \(detail)"
        case .untrusted(let gateway, let why): "\(gateway) is not trusted: \(why.text)"
        case .noNode(let gateway):
            "\(gateway) is no node: no other gateway shares its database"
        case .cannotDrain(let detail): detail
        case .refused(let problem): problem.description
        case .unexpectedAnswer(let detail): "the gateway's answer makes no sense: \(detail)"
        case .transferFailed(let failure): failure.description
        case .serverAnswered(let status), .loginRefused(let status):
            "the server answered \(status)"
        case .fileExists(let path):
            "\(path) is there already: give -f to replace it, or another name with -o"
        case .file(let path, let detail): "\(path): \(detail)"
        case .unreadable(let path, let detail): "\(path): \(detail)"
        case .resumable(let error): "\(error.clause); run the same command again to resume"
        case .interrupted: "interrupted"
        }
    }
}

extension ClientError {
    /// The text as a part of a sentence.
    private var clause: String {
        var text = text
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }

    /// The status that the process leaves with.
    public var exitStatus: ExitStatus {
        switch self {
        case .badArgument: .usage
        case .noGateway, .noToken, .noStart, .unreachable, .untrusted: .noGateway
        case .refused, .unexpectedAnswer, .commandFailed, .noNode, .cannotDrain: .failure
        case .transferFailed(let failure): failure.isCancellation ? .cancelled : .transferFailed
        case .serverAnswered, .loginRefused: .serverAnswered
        case .fileExists, .file: .cannotWrite
        case .unreadable: .cannotRead
        case .resumable(let error): error.exitStatus
        case .interrupted: .interrupted
        }
    }
}

extension ClientError {
    /// One JSON object on one line, for scripts: `{"error":{"message":…,"exitStatus":…}}`.
    ///
    /// A transfer's error has its `domain`, `code` and `name` too, a refusal its `status` and
    /// `code`, an answer of the origin its `status`. `"resumable":true` stands where the same
    /// command will go on.
    public var json: String { json(about: nil) }

    /// The same with the `url` that it is about, if one is given.
    public func json(about url: String?) -> String {
        var json = JSONWriter()
        json.object { json in
            if let url { json.member("url", url) }
            json.object("error") { json in
                json.member("message", description)
                json.member("exitStatus", Int(exitStatus.rawValue))
                writeDetails(to: &json)
            }
        }
        return String(decoding: json.finish(), as: UTF8.self)
    }

    private func writeDetails(to json: inout JSONWriter) {
        switch self {
        case .transferFailed(let failure):
            json.member("domain", failure.domain)
            json.member("code", failure.code)
            json.member("name", failure.name)
        case .refused(let problem):
            json.member("status", problem.status)
            json.member("code", problem.code)
            if let pointer = problem.pointer { json.member("pointer", pointer) }
        case .serverAnswered(let status), .loginRefused(let status):
            json.member("status", status)
        case .resumable(let error):
            json.member("resumable", true)
            error.writeDetails(to: &json)
        default: break
        }
    }

    /// Whether the gateway has not answered any more.
    var isOfLostGateway: Bool {
        switch self {
        case .resumable(let error): error.isOfLostGateway
        case .unreachable: true
        default: false
        }
    }

    /// Whether it is that nobody reads standard output any more, as after `| head`.
    public var isOfGoneReader: Bool {
        switch self {
        case .resumable(let error): error.isOfGoneReader
        default: self == .file(path: PartFile.streamName, failure: EPIPE)
        }
    }

    /// Whether it is about the one thing that was asked for, so that the next one may succeed.
    public var isOfOne: Bool {
        switch self {
        case .badArgument: true
        // A token that is not good, or has no scope for it, is not for the others either.
        case .refused(let problem): ![401, 403].contains(problem.status)
        default: false
        }
    }

    /// Whether the same request may well succeed a little later.
    var isPassing: Bool {
        switch self {
        case .unreachable: true
        case .refused(let problem): problem.isPassing
        default: false
        }
    }
}

/// What the exit status of a command means; part of the command line's contract.
public enum ExitStatus: Int32, Sendable, CaseIterable {
    /// Done; for `get`, `put` and `watch TASK`: the transfer succeeded.
    case success = 0
    /// Refused by the gateway, or not understood.
    case failure = 1
    /// No gateway, no token, or no answer from it.
    case noGateway = 3
    /// The transfer ended with an NSURLError.
    case transferFailed = 4
    /// The task was cancelled by somebody else (-999).
    case cancelled = 5
    /// The origin answered 400 or more; the number is that of `curl -f`.
    case serverAnswered = 22
    /// A local file could not be written; the number is curl's.
    case cannotWrite = 23
    /// The local file could not be read, or has changed meanwhile; the number is curl's.
    case cannotRead = 26
    /// Wrong arguments (EX_USAGE of sysexits.h).
    case usage = 64
    /// Ended by Ctrl-C or a request to end (128 + SIGINT, as shells have it).
    case interrupted = 130
}
