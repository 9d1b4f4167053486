internal import HTTP
internal import JSON
internal import Semantics

/// Where a download is to be saved (`Destination` of openapi.yaml), read but not judged.
struct DestinationDraft {
    private var folder: String?
    private var path: String?
    private var ifExists = SaveDestination.IfExists.fail

    init(_ reader: inout JSONReader) throws(JSONError) {
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "folder": folder = try reader.string()
            case "path": path = try reader.string()
            case "ifExists": ifExists = try reader.choice()
            default: throw reader.unknownMember(name)
            }
        }
        if folder == nil { throw reader.fail("is missing", at: "folder") }
        if path == nil { throw reader.fail("is missing", at: "path") }
    }

    /// The destination, if it is one.
    ///
    /// - Parameters:
    ///   - pointer: where it stands in the body.
    ///   - folders: the names that there are.
    /// - Returns: where the download goes.
    /// - Throws: 422 with the member that is wrong.
    func destination(
        at pointer: String, among folders: [String]
    ) throws(Problem) -> SaveDestination {
        guard let folder, folders.contains(folder) else {
            throw ProblemCode.invalidValue.problem(
                folders.isEmpty
                    ? "The gateway has no folders to save in: --folder NAME=PATH names one."
                    : "The folders of this gateway are \(folders.joined(separator: ", ")).",
                at: pointer + "/folder")
        }
        guard let path, SaveDestination.isPath(path) else {
            throw ProblemCode.invalidValue.problem(
                """
                The value must be a path below the folder, as a/b.flac: names of at most \
                \(SaveDestination.nameByteLimit) bytes, none of them "." or "..", and no slash at \
                either end.
                """, at: pointer + "/path")
        }
        return SaveDestination(folder: folder, path: path, ifExists: ifExists)
    }
}
