internal import Contract
internal import HTTP
internal import Loop

/// The members that a client wants to see of each task that it is shown.
struct FieldSelection {
    /// Those that are wanted, in the order in which tasks show them.
    let members: [TaskMember]

    /// About how many bytes of JSON a task takes; nil stands for all members.
    static func capacity(_ fields: FieldSelection?) -> Int { fields == nil ? 2048 : 256 }

    /// Reads `fields`, names with commas between them; nil where there are none.
    ///
    /// - Throws: 422 for a name that no task has a member of.
    @LoopActor
    init?(_ call: Call) throws(Problem) {
        guard let text = call.request.queryValue("fields") else { return nil }
        var wanted: Set<TaskMember> = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
            guard !name.isEmpty else {
                throw Call.invalid("fields", "must be names with commas between them")
            }
            guard let member = TaskMember(rawValue: name) else {
                let near = NearestName.of(
                    String(name.prefix(64)), in: TaskMember.all.map(\.rawValue))
                throw Call.invalid(
                    "fields",
                    "names \(name.prefix(64)), which no task has"
                        + (near.map { " (did you mean \($0)?)" } ?? ""))
            }
            wanted.insert(member)
        }
        members = TaskMember.all.filter(wanted.contains)
    }
}
