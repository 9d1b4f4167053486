import Foundation
import Glibc
import Synchronization

/// moto, a server that speaks S3, on loopback: with a bucket and a user whose signatures it checks.
/// It is a process that ends with the test process (`Tests/moto/serve`).
public final class MotoServer: Sendable {
    /// The server that the tests of this process share, each below a prefix of its own.
    public static func shared() async throws -> MotoServer { try await sharing.value }
    private static let sharing = Task { try await MotoServer() }

    /// Whether it can be had on this machine; says so where it cannot. The first time it may have
    /// to be installed.
    public static let isInstalled: Bool = {
        let deadline = ContinuousClock.now + .seconds(300)
        if let install = try? ChildProcess(script, ["--install"]) {
            while install.exit == nil, ContinuousClock.now < deadline { usleep(10_000) }
            if install.exit == .status(0) { return true }
        }
        FileHandle.standardError.write(
            Data("No moto here (PyPI): nothing is tested on S3.\n".utf8))
        return false
    }()

    private static let script =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../moto/serve").standardizedFileURL.path

    /// Its URL, to which nothing is to be added.
    public let url: String
    /// What it has of its own.
    public let bucket: String
    /// The credentials of its user, as an environment has them.
    public let environment: [String: String]
    private let process: ChildProcess
    private let prefixCount = Atomic(0)

    /// Starts one.
    public init() async throws {
        process = try ChildProcess(Self.script, [])
        let line = try await process.waitForLine { $0.hasPrefix("{") }
        let place = try TestJSON(parsing: line)
        guard let url = place["url"].string, let bucket = place["bucket"].string,
            let access = place["accessKey"].string, let secret = place["secretKey"].string
        else { throw MalformedMessage("moto: \(line)") }
        self.url = url
        self.bucket = bucket
        environment = ["AWS_ACCESS_KEY_ID": access, "AWS_SECRET_ACCESS_KEY": secret]
    }

    /// A place in its bucket that no test has had, as `--contents` names it.
    public func newPlace() -> String {
        let number = prefixCount.wrappingAdd(1, ordering: .relaxed).newValue
        return "s3://\(bucket)/test-\(number)?endpoint=\(url)"
    }
}
