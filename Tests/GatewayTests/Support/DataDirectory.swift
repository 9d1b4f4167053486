import Foundation
import GRDB
import Semantics
import TestSupport

/// The files of a gateway, looked at and spoiled from outside.
extension RunningGateway {
    /// Runs statements on the database; the gateway must have ended.
    func damage(_ statements: [String]) throws {
        let database = try DatabaseQueue(path: dataDirectory + "/ferry.sqlite")
        try database.write { database in
            for statement in statements { try database.execute(sql: statement) }
        }
        try database.close()
    }

    /// What a repair has set aside: the tables of the rows, and the statements that put them back.
    func setAside() throws -> [(source: String, statement: String)] {
        let database = try DatabaseQueue(path: dataDirectory + "/ferry.sqlite")
        defer { try? database.close() }
        return try database.read { database in
            try Row.fetchAll(database, sql: "SELECT source, statement FROM damaged").map {
                ($0["source"], $0["statement"])
            }
        }
    }

    /// The files of a task's or staged file's content, whole or growing, by their paths.
    func files(of id: String) throws -> [String] {
        let content = dataDirectory + "/content"
        return try FileManager.default.subpathsOfDirectory(atPath: content).sorted()
            .filter { $0.split(separator: "/").last?.hasPrefix(id) == true }
            .map { "\(content)/\($0)" }
    }

    /// Makes a file that no row tells of: a gateway removes it soon after its start.
    /// - Returns: Its path.
    func makeStray() throws -> String {
        let path = "\(dataDirectory)/content/00/\(TaskID(rawValue: 32))"
        try Data("stray".utf8).write(to: URL(fileURLWithPath: path))
        return path
    }
}
