internal import Engine
internal import HTTP
internal import Loop
internal import Semantics

/// Bytes of which the length is known, as an answer: whole, a range of it, or as conditions say
/// (RFC 9110 §13, §14).
@LoopActor
struct RangedContent {
    /// The fields of every answer that has bytes.
    var headers: HeaderFields
    /// What the bytes are known by; nil where nothing is.
    let entityTag: EntityTag?
    let length: Int64
    /// Opens a range of the bytes, or all of them for nil.
    let open: @LoopActor (Range<Int64>?) async throws -> ContentStream

    func answer(to request: Request) async throws -> Response {
        var headers = headers
        if let entityTag { headers.add("ETag", entityTag.description) }
        headers.add("Accept-Ranges", "bytes")
        let isHead = request.method == "HEAD"
        // A POST asks for what it has fetched, and of that there was nothing before.
        let fields = request.method == "POST" ? nil : request.headers
        let conditions = ContentConditions(
            ifMatch: joined("if-match", fields), ifNoneMatch: joined("if-none-match", fields),
            range: joined("range", fields), ifRange: joined("if-range", fields))
        switch conditions.answer(isHead: isHead, entityTag: entityTag, length: length) {
        case .whole:
            let source: any ByteSource =
                isHead ? NoBytes() : ContentBytes(try await open(nil))
            return Response(
                status: 200, headers: headers, body: .source(source, length: length))
        case .partial(let range):
            headers.add("Content-Range", "bytes \(range.first)-\(range.last)/\(length)")
            let stream = try await open(range.first..<range.last + 1)
            return Response(
                status: 206, headers: headers,
                body: .source(ContentBytes(stream), length: range.count))
        case .notModified:
            return Response(status: 304, headers: headers)
        case .unsatisfiable:
            throw ProblemCode.rangeNotSatisfiable.problem(
                headers: ["Content-Range": "bytes */\(length)"])
        case .preconditionFailed:
            throw ProblemCode.preconditionFailed.problem()
        }
    }

    private func joined(_ name: String, _ fields: RequestHeaders?) -> String? {
        let values = fields?.values(of: name) ?? []
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

/// A content as the front door pulls it.
@LoopActor
final class ContentBytes: ByteSource {
    private let stream: ContentStream

    init(_ stream: ContentStream) { self.stream = stream }

    func next() async throws -> [UInt8]? { try await stream.next() }
    func cancel() { stream.cancel() }
}

/// Stands for bytes whose length only is told.
@LoopActor
final class NoBytes: ByteSource {
    func next() async throws -> [UInt8]? { nil }
    func cancel() {}
}
