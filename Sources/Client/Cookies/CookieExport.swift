internal import Glibc

extension CookieFile {
    /// Writes a file that the gateway has made to `path`, for this user only, or to standard
    /// output; a pipe or a device is written to as it is.
    ///
    /// On a terminal what it would obey is shown in place of being written. Blocks.
    ///
    /// - Throws: `fileExists` unless it may be replaced; `file`.
    public static func write(
        _ bytes: [UInt8], to path: String?, replacesFile: Bool
    ) throws(ClientError) {
        guard let path, path != "-" else {
            return try write(bytes, toDescriptor: STDOUT_FILENO)
        }
        if PartFile.isStream(path) {
            let stream = try PartFile.openStream(path)
            defer { close(stream) }
            return try write(bytes, toDescriptor: stream, called: path)
        }
        guard replacesFile || !PartFile.exists(path) else { throw .fileExists(path: path) }
        try PartFile.requireFile(path)
        try LocalFile.replace(LinkedPath.resolved(path), with: bytes, mode: 0o600)
    }

    static func write(
        _ bytes: [UInt8], toDescriptor descriptor: Int32, called name: String = PartFile.streamName
    ) throws(ClientError) {
        let shown = isatty(descriptor) == 1 ? forTerminal(bytes) : bytes
        let failure = shown.withUnsafeBytes { LocalFile.writeAll($0, to: descriptor) }
        guard failure == 0 else { throw .file(path: name, failure: failure) }
    }

    private static func forTerminal(_ bytes: [UInt8]) -> [UInt8] {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let shown = lines.map { line in
            // The columns stay where they are.
            line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
                .map { DisplayText.line(String(decoding: $0, as: UTF8.self)) }
                .joined(separator: "\t")
        }
        return Array(shown.joined(separator: "\n").utf8)
    }
}
