internal import CAssets
internal import JSON
internal import Yams

/// openapi.yaml, the one document that says what the wire is, as the program uses it.
struct ContractDocument: Sendable {
    /// What `x-ferry-problems` says of a code.
    struct ProblemMeaning: Sendable {
        let code: String
        let status: Int
        let title: String
        /// What has happened and what to do, for a person.
        let meaning: String
    }

    /// The document is not what the program was built for.
    struct Malformed: Error { let place: String }

    /// The same document as JSON.
    let json: [UInt8]
    /// All of the closed list, in its order.
    let problems: [ProblemMeaning]

    /// The document as it lies in the program.
    static let text = Array(
        UnsafeBufferPointer(start: ferry_contract_bytes(), count: ferry_contract_length))

    /// What is in it; reading takes some tenths of a second, once and not on the loop.
    static let read = Task.detached(priority: .utility) { try ContractDocument(yaml: text) }

    /// - Parameter yaml: the document in UTF-8.
    /// - Throws: `Malformed`, or Yams' `YamlError`.
    init(yaml: [UInt8]) throws {
        guard let root = try Yams.compose(yaml: String(decoding: yaml, as: UTF8.self)) else {
            throw Malformed(place: "/")
        }
        guard let rows = root["x-ferry-problems"]?.mapping else {
            throw Malformed(place: "x-ferry-problems")
        }
        problems = try rows.map { key, row in
            guard let code = key.string, let status = row["status"]?.int,
                let title = row["title"]?.string
            else { throw Malformed(place: "x-ferry-problems/\(key.string ?? "")") }
            return ProblemMeaning(
                code: code, status: status, title: title, meaning: row["meaning"]?.string ?? title)
        }
        var writer = JSONWriter(capacity: yaml.count * 2)
        try ContractDocument.write(root, to: &writer)
        json = writer.finish()
    }

    private static func write(_ node: Node, to json: inout JSONWriter) throws {
        switch node {
        case .mapping(let members):
            try json.object { json in
                for (key, value) in members {
                    guard let name = key.string else { throw Malformed(place: "\(key)") }
                    json.name(named: name)
                    try write(value, to: &json)
                }
            }
        case .sequence(let items):
            try json.array { json in
                for item in items { try write(item, to: &json) }
            }
        case .scalar(let scalar): write(scalar, of: node, to: &json)
        case .alias: throw Malformed(place: "alias")
        }
    }

    private static func write(_ scalar: Node.Scalar, of node: Node, to json: inout JSONWriter) {
        let tag = node.tag.rawValue
        if tag == Tag.Name.null.rawValue {
            json.null()
        } else if tag == Tag.Name.bool.rawValue, let value = node.bool {
            json.bool(value)
        } else if tag == Tag.Name.int.rawValue, let value = node.int {
            json.int(Int64(value))
        } else if tag == Tag.Name.float.rawValue, let value = node.float {
            json.double(value)
        } else {
            json.string(scalar.string)
        }
    }
}
