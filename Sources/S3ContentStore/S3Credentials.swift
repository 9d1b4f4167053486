internal import Engine
internal import Files
internal import Glibc
internal import Loop

/// Who asks, and what proves it.
struct S3Credentials: Sendable, Equatable {
    let accessKey: String
    let secretKey: String
    /// Of credentials that expire; nil for those that do not.
    let sessionToken: String?

    /// Those of the environment; nil where it has none.
    ///
    /// - Throws: `UnusablePlace` for a half of them.
    init?(environment: [String: String]) throws(UnusablePlace) {
        let access = environment["AWS_ACCESS_KEY_ID"] ?? ""
        let secret = environment["AWS_SECRET_ACCESS_KEY"] ?? ""
        guard !access.isEmpty || !secret.isEmpty else { return nil }
        guard !access.isEmpty, !secret.isEmpty else {
            throw UnusablePlace(
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY go together: set both, or none.")
        }
        self.init(access, secret, environment["AWS_SESSION_TOKEN"])
    }

    init(_ accessKey: String, _ secretKey: String, _ sessionToken: String?) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken?.isEmpty == true ? nil : sessionToken
    }

    /// Those of a profile in the text of a shared credentials file; nil where it has none.
    /// <https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>
    init?(file text: String, profile: String) {
        var values: [Substring: String] = [:]
        var isInProfile = false
        for line in text.split(whereSeparator: \.isNewline) {
            let line = Self.trimmed(line)
            if line.hasPrefix("["), line.hasSuffix("]") {
                isInProfile = Self.trimmed(line.dropFirst().dropLast()) == profile
            } else if isInProfile, !line.hasPrefix("#"), !line.hasPrefix(";") {
                let parts = line.split(separator: "=", maxSplits: 1)
                if parts.count == 2 {
                    values[Self.trimmed(parts[0])] = String(Self.trimmed(parts[1]))
                }
            }
        }
        guard let access = values["aws_access_key_id"], let secret = values["aws_secret_access_key"]
        else { return nil }
        self.init(access, secret, values["aws_session_token"])
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text = text.dropLast() }
        return text
    }
}

/// Where credentials come from: the environment, else a file, which is read again when it has
/// changed.
@LoopActor
final class S3CredentialSource {
    private enum Origin {
        case fixed(S3Credentials)
        case file(String, profile: String)
    }

    /// What tells that a file has changed.
    private struct Version: Equatable, Sendable {
        let inode: UInt64
        let seconds: Int
        let nanoseconds: Int
    }

    private let origin: Origin
    private let files: FileThreads
    private let clock: any Clock
    private var known: (credentials: S3Credentials, version: Version)?
    private var lookedAt: Duration?
    /// How often the file is looked at, where nothing fails.
    private static let interval = Duration.seconds(5)

    /// - Throws: `UnusablePlace` where the environment has a half of what it takes.
    nonisolated init(
        environment: [String: String], files: FileThreads, clock: any Clock
    ) throws(UnusablePlace) {
        self.files = files
        self.clock = clock
        if let credentials = try S3Credentials(environment: environment) {
            origin = .fixed(credentials)
        } else {
            let path =
                environment["AWS_SHARED_CREDENTIALS_FILE"]
                ?? "\(environment["HOME"] ?? "")/.aws/credentials"
            origin = .file(path, profile: environment["AWS_PROFILE"] ?? "default")
        }
    }

    /// What is to be used now.
    ///
    /// - Parameter renewing: whether those that are known have just been refused.
    /// - Returns: the credentials.
    /// - Throws: `UnusablePlace`, in a sentence for the operator.
    func current(renewing: Bool = false) async throws(UnusablePlace) -> S3Credentials {
        guard case .file(let path, let profile) = origin else {
            guard case .fixed(let credentials) = origin else { preconditionFailure("two cases") }
            return credentials
        }
        if let known, let lookedAt, !renewing, clock.uptime - lookedAt < Self.interval {
            return known.credentials
        }
        lookedAt = clock.uptime
        let version = known?.version
        let outcome = try? await files.run {
            try Self.read(path, profile: profile, unless: version)
        }
        switch outcome {
        case .changed(let credentials, let version):
            known = (credentials, version)
            return credentials
        case .unchanged, .without, nil:
            // A file that is being written anew may be empty for a moment.
            if let known { return known.credentials }
            throw UnusablePlace(
                """
                There are no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
                write them into the section [\(profile)] of \(path), for the gateway's user to read.
                """)
        }
    }

    private enum Outcome: Sendable {
        case changed(S3Credentials, Version)
        case unchanged, without
    }

    /// Bytes: no such file is as large.
    private nonisolated static let sizeLimit = 64 << 10

    private nonisolated static func read(
        _ path: String, profile: String, unless version: Version?
    ) throws -> Outcome {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw FileError("open", code: errno) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw FileError("fstat", code: errno) }
        let found = Version(
            inode: UInt64(status.st_ino), seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec)
        guard found != version else { return .unchanged }
        guard status.st_size < sizeLimit else { throw FileError("read", code: EFBIG) }
        let bytes = try [UInt8](unsafeUninitializedCapacity: sizeLimit) { buffer, count in
            let length = Glibc.read(file, buffer.baseAddress, buffer.count)
            guard length >= 0 else { throw FileError("read", code: errno) }
            count = length
        }
        guard
            let credentials = S3Credentials(
                file: String(decoding: bytes, as: UTF8.self), profile: profile)
        else { return .without }
        return .changed(credentials, found)
    }
}
