internal import JSON
internal import Syntax

/// Where a content is put on the gateway's machine: in one of the folders that its operator has
/// named.
public struct DownloadDestination: Equatable, Sendable {
    private let folder: String
    private let path: String
    private let ifExists: String

    /// Reads `FOLDER/PATH`, or `FOLDER`; where that is all, or the path ends with a slash, the last
    /// part of the URL's path names the file. `ifExists` is `fail`, `rename` or `replace`.
    ///
    /// - Throws: `badArgument` without a folder.
    public init(
        parsing text: String, of url: String, ifExists: String
    ) throws(ClientError) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let folder = parts.first, !folder.isEmpty else {
            throw .badArgument("a place is written FOLDER or FOLDER/PATH, not '\(text)'")
        }
        self.folder = String(folder)
        let place = parts.count > 1 ? String(parts[1]) : ""
        path =
            place.isEmpty || place.hasSuffix("/")
            ? place + DownloadDestination.fileName(of: url) : place
        self.ifExists = ifExists
    }

    /// The last part of a URL's path, decoded; `download` where there is none.
    private static func fileName(of url: String) -> String {
        let path = url.prefix { $0 != "?" && $0 != "#" }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count > 3, let last = parts.last else { return LocalFileName.safe(nil) }
        let coded = Array(last.utf8)
        var bytes: [UInt8] = []
        let isDecoded = coded.withUnsafeBytes { PercentCoding.decode($0, onto: &bytes) }
        return LocalFileName.safe(String(decoding: isDecoded ? bytes : coded, as: UTF8.self))
    }

    /// Writes the member `destination` of a task's object.
    func write(to json: inout JSONWriter) {
        json.object("destination") { json in
            json.member("folder", folder)
            json.member("path", path)
            json.member("ifExists", ifExists)
        }
    }
}
