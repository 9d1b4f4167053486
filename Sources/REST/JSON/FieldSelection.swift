internal import Contract
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// The members that a client wants to see of each task of a list.
struct FieldSelection {
    private let names: Set<String>

    /// Reads `fields`, names with commas between them.
    ///
    /// - Throws: 422 for a name that no task has a member of.
    @LoopActor
    init?(_ call: Call) throws(Problem) {
        guard let text = call.request.queryValue("fields") else { return nil }
        var names: Set<String> = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
            guard FieldSelection.taskMembers.contains(name) else {
                let near = NearestName.of(String(name.prefix(64)), in: FieldSelection.taskMembers)
                throw Call.invalid(
                    "fields",
                    "names \(name.prefix(64)), which no task has"
                        + (near.map { "; did you mean \($0)?" } ?? ""))
            }
            names.insert(name)
        }
        self.names = names
    }

    /// Writes the members of an object that are wanted, in their order.
    func write(_ object: [UInt8], to json: inout JSONWriter) {
        json.object { json in
            FieldSelection.forEachMember(of: object) { name, value in
                guard names.contains(name) else { return }
                json.name(named: name)
                json.raw(value)
            }
        }
    }

    /// What every task shows.
    private static let taskMembers: [String] = {
        let request = RequestRecord(
            url: WebURL(string: "", scheme: "", host: "", port: 0, path: ""))
        let task = TaskRecord(
            id: TaskID(rawValue: 0), tenant: TenantID(rawValue: 0),
            session: SessionID(rawValue: 0), number: 0, type: .data, options: TaskOptions(),
            request: request, createdAt: Timestamp(milliseconds: 0))
        var json = JSONWriter()
        TaskView(record: task, waitingFor: nil, hasContent: false)
            .write(to: &json, sharedSession: false)
        var names: [String] = []
        forEachMember(of: json.finish()) { name, _ in names.append(name) }
        return names
    }()

    /// Goes through an object that was written here.
    private static func forEachMember(of object: [UInt8], _ body: (String, [UInt8]) -> Void) {
        do throws(JSONError) {
            try JSONReader.read(
                object, limits: JSONReader.Limits(byteLimit: .max, depthLimit: 64)
            ) { reader throws(JSONError) in
                try reader.object { reader, name throws(JSONError) in
                    body(name, try reader.rawValue())
                }
            }
        } catch {
            preconditionFailure("what the gateway writes is JSON")
        }
    }
}
