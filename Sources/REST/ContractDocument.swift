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
        guard let root = try Yams.compose(yaml: String(decoding: yaml, as: UTF8.self), .basic)
        else {
            throw Malformed(place: "/")
        }
        guard let rows = root["x-ferry-problems"]?.mapping else {
            throw Malformed(place: "x-ferry-problems")
        }
        problems = try rows.map { key, row in
            guard let code = key.scalar?.string,
                let status = row["status"]?.scalar.flatMap({ Int($0.string) }),
                let title = row["title"]?.scalar?.string
            else { throw Malformed(place: "x-ferry-problems/\(key.scalar?.string ?? "")") }
            return ProblemMeaning(
                code: code, status: status, title: title,
                meaning: row["meaning"]?.scalar?.string ?? title)
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
                    guard let name = key.scalar?.string else { throw Malformed(place: "\(key)") }
                    json.name(named: name)
                    try write(value, to: &json)
                }
            }
        case .sequence(let items):
            try json.array { json in
                for item in items { try write(item, to: &json) }
            }
        case .scalar(let scalar): write(scalar, to: &json)
        case .alias: throw Malformed(place: "alias")
        }
    }

    /// By YAML's core schema (§10.3.2 of its specification), of which this document uses little.
    /// The library's own resolver would need tables of ICU that a release has not.
    private static func write(_ scalar: Node.Scalar, to json: inout JSONWriter) {
        let text = scalar.string
        guard scalar.style == .plain else { return json.string(text) }
        switch text {
        case "null", "~", "": json.null()
        case "true": json.bool(true)
        case "false": json.bool(false)
        default:
            if let number = Int64(text) {
                json.int(number)
            } else if text.utf8.first.map({ $0 < UInt8(ascii: "A") }) == true,
                let number = Double(text)
            {
                json.double(number)
            } else {
                json.string(text)
            }
        }
    }
}
