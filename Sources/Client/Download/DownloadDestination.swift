internal import JSON

/// Where a content is put on the gateway's machine: in one of the folders that its operator has
/// named.
public struct DownloadDestination: Equatable, Sendable {
    private let folder: String
    private let path: String
    private let ifExists: String

    /// Reads `FOLDER/PATH`; `ifExists` is `fail`, `rename` or `replace`.
    ///
    /// - Throws: `badArgument` without a folder or a path.
    public init(parsing text: String, ifExists: String) throws(ClientError) {
        guard let slash = text.firstIndex(of: "/"), slash != text.startIndex,
            text.index(after: slash) != text.endIndex
        else { throw .badArgument("a place is written FOLDER/PATH, not '\(text)'") }
        folder = String(text[..<slash])
        path = String(text[text.index(after: slash)...])
        self.ifExists = ifExists
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
