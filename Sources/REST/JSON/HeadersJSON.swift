internal import HTTP
internal import JSON
internal import Semantics

/// What stands in answers and events in place of a sensitive value.
let redacted = "<redacted>"

extension HeaderList {
    /// Reads an object of strings or arrays of strings; of too many, one more than `check` lets
    /// pass.
    init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.object { reader, name throws(JSONError) in
            if try reader.peekKind() == .array {
                try reader.array { reader throws(JSONError) in try read(name, &reader) }
            } else {
                try read(name, &reader)
            }
        }
    }

    private mutating func read(_ name: String, _ reader: inout JSONReader) throws(JSONError) {
        guard count <= HeaderRules.fieldLimit else { return try reader.skipValue() }
        append(name, try reader.string())
    }

    /// Refuses what a client may not send, and what it was shown in place of a secret.
    func check(at pointer: String, sensitive marked: [String] = []) throws(Problem) {
        do {
            try HeaderRules.check(self)
        } catch {
            var pointer = pointer
            if case .header(let name) = error.subject { pointer += JSONPointer.text([name]) }
            throw ProblemCode.invalidHeader.problem(error.sentence, at: pointer)
        }
        let sensitive = SensitiveNames(marking: marked)
        for field in fields where field.value == redacted && sensitive.contains(field.name) {
            throw ProblemCode.invalidHeader.problem(
                "The value is the placeholder that answers show; give the real one.",
                at: pointer + JSONPointer.text([field.name]))
        }
    }

    /// Writes an object; a name that stands more than once gets an array. Sensitive values are
    /// hidden.
    func writeObject(to json: inout JSONWriter, hiding marked: [String]) {
        let sensitive = SensitiveNames(marking: marked)
        json.object { json in
            for (name, values) in byName {
                let shown = sensitive.contains(name) ? values.map { _ in redacted } : values
                if shown.count == 1 {
                    json.member(named: name, shown[0])
                } else {
                    json.member(named: name, shown)
                }
            }
        }
    }

    /// Writes an array of pairs, in order and as they came.
    func writePairs(to json: inout JSONWriter) {
        json.array { json in
            for field in fields {
                json.array { json in
                    json.string(field.name)
                    json.string(field.value)
                }
            }
        }
    }
}
