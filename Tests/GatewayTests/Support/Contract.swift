import Foundation
import TestSupport
import Yams

/// openapi.yaml, the contract.
struct Contract: Sendable {
    /// One operation of it.
    struct Operation: Sendable, CustomStringConvertible {
        let method: String
        let path: String
        /// `x-ferry-scope`.
        let scope: String
        /// The first example of its JSON request body, as text; nil where it takes none.
        let body: String?

        var description: String { "\(method) \(path)" }

        /// The path with real ids in it.
        func path(
            session: String, task: String, file: String = "fil_000000000000",
            decision: String = "dec_000000000000"
        ) -> String {
            path.replacing("/page/{file}", with: "/page/app.js")
                .replacing("/problems/{code}", with: "/problems/not-found")
                .replacing("{session}", with: session).replacing("{task}", with: task)
                .replacing("{file}", with: file).replacing("{decision}", with: decision)
        }
    }

    /// A problem of the closed list.
    struct Problem: Hashable, Sendable {
        let code: String
        let status: Int
        let title: String
    }

    /// What a task can fail with.
    struct TransferFailure: Hashable, Sendable {
        let name: String
        let domain: String
        let code: Int
        let message: String
    }

    let operations: [Operation]
    let problems: Set<Problem>
    let errors: Set<TransferFailure>

    /// The bytes of the file at the root of the package.
    static func bytes() throws -> [UInt8] { try bytes(of: "openapi.yaml") }

    /// The bytes of a file at the root of the package.
    static func bytes(of name: String) throws -> [UInt8] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try Array(Data(contentsOf: root.appendingPathComponent(name)))
    }

    /// Reads the file.
    init() throws {
        let text = String(decoding: try Contract.bytes(), as: UTF8.self)
        guard let document = try Yams.compose(yaml: text) else { throw Malformed(place: "") }
        var operations: [Operation] = []
        for (path, item) in try Contract.members(of: document, "paths") {
            for (method, node) in try Contract.members(of: item)
            where method != "parameters" {
                guard let scope = node["x-ferry-scope"]?.string else {
                    throw Malformed(place: path)
                }
                operations.append(
                    Operation(
                        method: method.uppercased(), path: path, scope: scope,
                        body: try Contract.example(of: node)))
            }
        }
        self.operations = operations
        problems = Set(
            try Contract.members(of: document, "x-ferry-problems").map { code, node in
                guard let status = node["status"]?.int, let title = node["title"]?.string else {
                    throw Malformed(place: code)
                }
                return Problem(code: code, status: status, title: title)
            })
        errors = Set(
            try Contract.members(of: document, "x-ferry-errors").map { name, node in
                guard let domain = node["domain"]?.string, let code = node["code"]?.int,
                    let message = node["message"]?.string
                else { throw Malformed(place: name) }
                return TransferFailure(name: name, domain: domain, code: code, message: message)
            })
    }

    /// Something that the contract must have and has not.
    struct Malformed: Error { let place: String }

    private static func members(
        of node: Node, _ names: String...
    ) throws -> [(String, Node)] {
        var node = node
        for name in names {
            guard let next = node[name] else { throw Malformed(place: name) }
            node = next
        }
        guard let mapping = node.mapping else { throw Malformed(place: names.last ?? "") }
        return try mapping.map { key, value in
            guard let key = key.string else { throw Malformed(place: "\(key)") }
            return (key, value)
        }
    }

    private static func example(of operation: Node) throws -> String? {
        guard let media = operation["requestBody"]?["content"]?["application/json"] else {
            return nil
        }
        let first = media["examples"]?.mapping?.first?.value["value"]
        guard let example = media["example"] ?? first else { throw Malformed(place: "requestBody") }
        return String(decoding: try json(example).text(), as: UTF8.self)
    }

    private static func json(_ node: Node) throws -> TestJSON {
        switch node {
        case .mapping(let mapping):
            return .object(
                try Dictionary(
                    mapping.map { ($0.string ?? "", try json($1)) }, uniquingKeysWith: { $1 }))
        case .sequence(let sequence):
            return .array(try sequence.map(json))
        case .scalar:
            if let value = node.int { return .int(value) }
            if let value = node.float { return .double(value) }
            if let value = node.bool { return .bool(value) }
            return node.null != nil ? .null : .string(node.string ?? "")
        case .alias:
            throw Malformed(place: "alias")
        }
    }
}
