internal import HTTP
internal import RawStructuredFieldValues
internal import Semantics

/// What a request says of an upload, in the fields of draft-ietf-httpbis-resumable-upload. A field
/// whose value is not what the draft has for it counts as not there (§4.1).
struct UploadFields {
    /// `Upload-Offset`: where the first byte belongs.
    let offset: Int64?
    /// `Upload-Complete`: whether the file is whole with the request.
    let isComplete: Bool?
    /// `Upload-Length`: bytes of the whole.
    let length: Int64?

    init(_ headers: RequestHeaders) {
        offset = UploadFields.length("upload-offset", headers)
        if case .bool(let value) = UploadFields.item("upload-complete", headers) {
            isComplete = value
        } else {
            isComplete = nil
        }
        length = UploadFields.length("upload-length", headers)
    }

    /// A Boolean as a structured field (RFC 9651 §3.3.6).
    static func text(_ value: Bool) -> String { value ? "?1" : "?0" }

    /// An integer that is not negative (RFC 9651 §3.3.1).
    private static func length(_ name: String, _ headers: RequestHeaders) -> Int64? {
        guard case .integer(let number) = item(name, headers), number >= 0 else { return nil }
        return number
    }

    /// The one item of a field, without its parameters: nobody has defined any.
    private static func item(_ name: String, _ headers: RequestHeaders) -> RFC9651BareItem? {
        let values = headers.values(of: name)
        guard values.count == 1 else { return nil }
        var parser = StructuredFieldValueParser(Array(values[0].utf8))
        return try? parser.parseItemFieldValue().rfc9651BareItem
    }
}

extension Call {
    /// The digest that the whole must have (RFC 9530); nil where none is given.
    ///
    /// Of several the first counts whose algorithm is known.
    /// - Throws: 422 for a field that is wrong, or has no algorithm that could be checked.
    func representationDigest() throws(Problem) -> ContentDigest? {
        let values = request.headers.values(of: "repr-digest")
        if values.isEmpty { return nil }
        let digest: ContentDigest?
        do throws(ContentDigest.SyntaxError) {
            digest = try ContentDigest.list(parsing: values.joined(separator: ", ")).first
        } catch {
            throw ProblemCode.invalidValue.problem("Repr-Digest: \(error.sentence)")
        }
        guard let digest else {
            throw ProblemCode.invalidValue.problem(
                "Repr-Digest: the algorithm must be sha-256 or sha-512.")
        }
        return digest
    }
}
