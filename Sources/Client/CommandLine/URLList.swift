/// The URLs of a file, as `--input-file` reads them.
public struct URLList: Equatable, Sendable {
    /// One thing to fetch.
    public struct Entry: Equatable, Sendable {
        /// Its URL as it was written.
        public let url: String
        /// Other URLs of the same file.
        public let mirrors: [String]

        /// An entry of these parts.
        public init(url: String, mirrors: [String]) {
            self.url = url
            self.mirrors = mirrors
        }
    }

    /// The entries without those whose URL another one has before them: a second file of that name
    /// could only fail.
    public static func unique(_ entries: [Entry]) -> [Entry] {
        var seen: Set<String> = []
        return entries.filter { seen.insert(GivenURL($0.url).url).inserted }
    }

    /// In the order of the file.
    public let entries: [Entry]

    private static let byteLimit = 64 << 20

    /// Reads a file, `-` for standard input: a URL on each line, behind it, behind tabs, other URLs
    /// of the same file. Empty lines and those that begin with `#` are left out. Blocks.
    ///
    /// - Throws: `unreadable`; `badArgument` where there is no URL in it.
    public init(reading path: String) throws(ClientError) {
        let bytes = try LocalFile.readGiven(path, limit: URLList.byteLimit)
        // Editors of some systems begin a file with a mark of its coding.
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
        let lines = String(decoding: text, as: UTF8.self).split { $0.isNewline }
        entries = lines.compactMap { line in
            guard !line.hasPrefix("#") else { return nil }
            let urls = line.split(separator: "\t").map { String($0).trimmed }.filter {
                !$0.isEmpty
            }
            return urls.first.map { Entry(url: $0, mirrors: Array(urls.dropFirst())) }
        }
        guard !entries.isEmpty else {
            throw .badArgument("\(path == "-" ? "standard input" : path): there is no URL in it")
        }
    }
}
