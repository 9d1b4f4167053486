internal import Crypto
internal import Glibc

/// The gateway's 256-bit key for what is sealed at rest. Never shown, never logged.
public struct DataKey: Sendable {
    /// 32.
    public static let byteCount = 32

    let bytes: [UInt8]

    /// A key from its bytes; nil unless there are 32.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// A new random key.
    public init() {
        bytes = SymmetricKey(size: .bits256).withUnsafeBytes(Array.init)
    }

    /// Reads the key from a file, or makes both when there is none.
    ///
    /// A new file has mode 0600. It appears under its name only when it is whole and on the disk,
    /// with its folder, so that nothing is ever sealed under a key that a power cut takes away.
    /// Blocks.
    ///
    /// - Throws: `DataKeyError`, when the file can be read or written by others, has not 32 bytes,
    ///   or the system refuses.
    public static func loadOrCreate(at path: String) throws(DataKeyError) -> DataKey {
        if let key = try load(at: path) { return key }
        let key = DataKey()
        if try key.create(at: path) { return key }
        guard let other = try load(at: path) else { throw .vanished(path: path) }
        return other
    }

    /// The key in a file; nil when there is no file.
    private static func load(at path: String) throws(DataKeyError) -> DataKey? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .system(path: path, call: "open", errno: errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .system(path: path, call: "fstat", errno: errno)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
        let mode = status.st_mode & 0o7777
        guard mode & ~0o600 == 0 else { throw .tooOpen(path: path, mode: UInt32(mode)) }
        guard status.st_size == byteCount else {
            throw .wrongSize(path: path, found: Int(status.st_size))
        }
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let count = read(descriptor, &bytes, byteCount)
        guard count >= 0 else { throw .system(path: path, call: "read", errno: errno) }
        guard count == byteCount, let key = DataKey(bytes: bytes) else {
            throw .wrongSize(path: path, found: count)
        }
        return key
    }

    /// Writes the key beside `path` and links it there; false when another process was first.
    private func create(at path: String) throws(DataKeyError) -> Bool {
        let draft = "\(path).\(getpid()).new"
        unlink(draft)
        let descriptor = Glibc.open(
            draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system(path: draft, call: "open", errno: errno) }
        defer {
            close(descriptor)
            unlink(draft)
        }
        guard fchmod(descriptor, 0o600) == 0 else {
            throw .system(path: draft, call: "fchmod", errno: errno)
        }
        guard write(descriptor, bytes, bytes.count) == bytes.count else {
            throw .system(path: draft, call: "write", errno: errno)
        }
        guard fsync(descriptor) == 0 else {
            throw .system(path: draft, call: "fsync", errno: errno)
        }
        guard link(draft, path) == 0 else {
            if errno == EEXIST { return false }
            throw .system(path: path, call: "link", errno: errno)
        }
        try Self.syncFolder(of: path)
        return true
    }

    private static func syncFolder(of path: String) throws(DataKeyError) {
        let folder =
            switch path.lastIndex(of: "/") {
            case nil: "."
            case path.startIndex: "/"
            case let slash?: String(path[..<slash])
            }
        let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(path: folder, call: "open", errno: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw .system(path: folder, call: "fsync", errno: errno)
        }
    }
}

/// Why there is no key.
public enum DataKeyError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Others than the owner may use the file; `mode` has its permission bits.
    case tooOpen(path: String, mode: UInt32)
    /// The file has not 32 bytes.
    case wrongSize(path: String, found: Int)
    /// A folder, a device or the like.
    case notAFile(path: String)
    /// The file went away while it was being made.
    case vanished(path: String)
    /// A system call failed.
    case system(path: String, call: String, errno: Int32)

    /// One sentence for the operator.
    public var description: String {
        switch self {
        case .tooOpen(let path, let mode):
            "The key file \(path) has mode 0\(String(mode, radix: 8)); it must be 0600."
        case .wrongSize(let path, let found):
            "The key file \(path) has \(found) bytes; a key has \(DataKey.byteCount)."
        case .notAFile(let path):
            "The key file \(path) is not a regular file."
        case .vanished(let path):
            "The key file \(path) was removed while it was being made."
        case .system(let path, let call, let errno):
            "The key file \(path) cannot be used: \(call): \(String(cString: strerror(errno)))."
        }
    }
}
