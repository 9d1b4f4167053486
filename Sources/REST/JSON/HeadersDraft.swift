internal import Contract
internal import HTTP
internal import JSON
internal import Semantics

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
    func check(
        at pointer: @autoclosure () -> String, sensitive marked: [String] = []
    ) throws(Problem) {
        do {
            try HeaderRules.check(self)
        } catch {
            var pointer = pointer()
            if case .header(let name) = error.subject { pointer += JSONPointer.text([name]) }
            throw ProblemCode.invalidHeader.problem(error.sentence, at: pointer)
        }
        let sensitive = SensitiveNames(marking: marked)
        for field in fields where field.value == redacted && sensitive.contains(field.name) {
            throw ProblemCode.invalidHeader.problem(
                "The value is the placeholder that answers show; give the real one.",
                at: pointer() + JSONPointer.text([field.name]))
        }
    }
}
