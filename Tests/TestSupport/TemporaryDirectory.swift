import Foundation
import Synchronization

/// A directory of a test's own, removed with all that is in it when it is released, or when the
/// process ends.
public final class TemporaryDirectory: Sendable {
    /// Its absolute path; short enough for a unix socket in it.
    public let path: String

    /// Makes an empty directory of mode 0700.
    ///
    /// - Throws: The system's error, as `CocoaError`.
    public init() throws {
        let parent = FileManager.default.temporaryDirectory.path
        path = "\(parent)/ferry-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        _ = Self.sweepsAtExit
        Self.present.withLock { _ = $0.insert(path) }
    }

    deinit { Self.remove(path) }

    private static let sweepsAtExit: Void = { atexit { TemporaryDirectory.removeAll() } }()

    /// What is there, some of it held by what lives as long as the process.
    private static let present = Mutex<Set<String>>([])

    private static func remove(_ path: String) {
        present.withLock { _ = $0.remove(path) }
        try? FileManager.default.removeItem(atPath: path)
    }

    private static func removeAll() {
        for path in present.withLock(\.self) { try? FileManager.default.removeItem(atPath: path) }
    }

    /// The path of a file in it.
    public func file(_ name: String) -> String {
        "\(path)/\(name)"
    }

    /// Writes a file and gives its path.
    @discardableResult
    public func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }

    /// The bytes of a file in it.
    public func read(_ name: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(fileURLWithPath: file(name))))
    }

    /// The relative paths of all files in it and below, sorted.
    public func contents() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
    }
}
