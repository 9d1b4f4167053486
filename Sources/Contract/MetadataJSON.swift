internal import JSON

extension JSONWriter {
    /// Writes what clients keep with a task or a session, by name.
    mutating func metadata(_ metadata: [String: String]) {
        object { json in
            for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
                json.member(named: key, value)
            }
        }
    }
}
