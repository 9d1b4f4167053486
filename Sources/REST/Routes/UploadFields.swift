internal import HTTP
internal import Semantics

/// What a request says of an upload, in the fields of draft-ietf-httpbis-resumable-upload. A field whose value is not
/// what the draft has for it counts as not there (§4.1).
struct UploadFields {
    /// `Upload-Offset`: where the first byte belongs.
    let offset: Int64?
    /// `Upload-Complete`: whether the file is whole with the request.
    let isComplete: Bool?
    /// `Upload-Length`: bytes of the whole.
    let length: Int64?

    init(_ headers: RequestHeaders) {
        offset = UploadFields.item("upload-offset", headers).flatMap(UploadFields.integer)
        isComplete = UploadFields.item("upload-complete", headers).flatMap(UploadFields.boolean)
        length = UploadFields.item("upload-length", headers).flatMap(UploadFields.integer)
    }

    /// A Boolean as a structured field (RFC 9651 §3.3.6).
    static func text(_ value: Bool) -> String { value ? "?1" : "?0" }

    /// The one item of a field, without its parameters: nobody has defined any.
    private static func item(_ name: String, _ headers: RequestHeaders) -> Substring? {
        let values = headers.values(of: name)
        guard values.count == 1 else { return nil }
        let value = values[0].drop { $0 == " " }
        let item = value.prefix { $0 != ";" && $0 != " " }
        let rest = value.dropFirst(item.count)
        return rest.first == ";" || rest.allSatisfy { $0 == " " } ? item : nil
    }

    /// An integer of at most 15 digits (RFC 9651 §3.3.1) that is not negative.
    private static func integer(_ item: Substring) -> Int64? {
        let digits = item.utf8
        guard digits.count <= 15,
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int64(item)
    }

    private static func boolean(_ item: Substring) -> Bool? {
        switch item {
        case "?1": true
        case "?0": false
        default: nil
        }
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
