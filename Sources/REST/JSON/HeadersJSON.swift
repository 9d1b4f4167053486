internal import HTTP
internal import JSON
internal import Semantics

/// What stands in answers and events in place of a sensitive value.
let redacted = "<redacted>"

extension HeaderList {
    /// Reads an object of strings or arrays of strings.
    init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.object { reader, name throws(JSONError) in
            if try reader.peekKind() == .array {
                try reader.array { reader throws(JSONError) in append(name, try reader.string()) }
            } else {
                append(name, try reader.string())
            }
        }
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
        for field in fields
        where field.value == redacted && HeaderRules.isSensitive(field.name, marked: marked) {
            throw ProblemCode.invalidHeader.problem(
                "The value is the placeholder that answers show; give the real one.",
                at: pointer + JSONPointer.text([field.name]))
        }
    }

    /// Writes an object; a name that stands more than once gets an array. Sensitive values are
    /// hidden.
    func writeObject(to json: inout JSONWriter, hiding marked: [String]) {
        json.object { json in
            var written: Set<String> = []
            for field in fields where written.insert(field.name.lowercased()).inserted {
                let isHidden = HeaderRules.isSensitive(field.name, marked: marked)
                let values = values(of: field.name).map { isHidden ? redacted : $0 }
                if values.count == 1 {
                    json.member(named: field.name, values[0])
                } else {
                    json.member(named: field.name, values)
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
