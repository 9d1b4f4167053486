extension JSONReader {
    /// The error for a value that has the right kind and the wrong content: "must be an http URL".
    ///
    /// It points at the value that is being read or was read last in the innermost open object or
    /// array; with `member`, at that member of it, as for a member that is missing.
    public func fail(_ detail: String, at member: String? = nil) -> JSONError {
        let pointer = JSONPointer.text(path + (member.map { [$0] } ?? []))
        return JSONError(
            kind: .wrongValue, pointer: pointer, detail: detail, offset: frame.valueOffset)
    }

    /// The error for a member that the object must not have, to be thrown in place of reading it.
    public func unknownMember(_ name: String) -> JSONError {
        JSONError(
            kind: .unknownMember, pointer: JSONPointer.text(path.dropLast() + [name]),
            detail: "is not a known member", offset: frame.valueOffset)
    }

    /// The error for a value of another kind than `kind`; or for no value at all.
    @inline(never)
    mutating func mismatch(_ kind: Kind) -> JSONError {
        do throws(JSONError) {
            let found = try peekKind()
            let error = fail("must be \(kind.words), not \(found.words)")
            failure = error
            return error
        } catch {
            return error
        }
    }

    /// The error for text that is not JSON. The reader then stands at the end, so nothing is
    /// misread.
    @inline(never)
    mutating func malformed(_ detail: String, at offset: Int? = nil) -> JSONError {
        if let failure, failure.kind == .malformed { return failure }
        let error = JSONError(
            kind: .malformed, pointer: JSONPointer.text(path), detail: detail,
            offset: offset ?? index)
        failure = error
        index = bytes.count
        return error
    }

    /// The names and indexes that lead to the current value.
    private var path: [String] {
        let frames = outerFrames + [frame]
        var path: [String] = []
        for (depth, frame) in frames.enumerated() where frame.count > 0 {
            if frame.isArray {
                path.append(String(frame.count - 1))
            } else {
                let next = depth + 1 < frames.count ? frames[depth + 1].outerNames : names.count
                path.append(names.text(at: next - 1, in: bytes))
            }
        }
        return path
    }
}
