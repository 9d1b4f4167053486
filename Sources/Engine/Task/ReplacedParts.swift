internal import Semantics

/// The parts of a multipart/x-mixed-replace body: one response after the other (S-46), about each
/// of which the delegate may want to decide (S-82).
struct ReplacedParts {
    private var reader: MixedReplaceReader?
    /// What has come behind the head of a part that the delegate has yet to decide about.
    private var held: [UInt8]?
    /// What follows the body, where nothing more of it is of use.
    private(set) var nextStep: Exchange.NextStep?
    /// Whether the task is the download of one part, and ends where the next one begins.
    var isOne = false

    /// A response begins, whose body may have parts.
    mutating func begin(_ response: ResponseRecord) {
        guard let type = response.headers.first("Content-Type") else { return }
        reader = MixedReplaceReader(contentType: type)
    }

    /// Whether the body has parts.
    var areExpected: Bool { reader != nil }

    /// Whether the delegate has yet to decide about a part.
    var areHeld: Bool { held != nil }

    /// The next piece of the body, if the bytes bring one, and what is behind it; nil where there
    /// are no parts, or no more of them are of use.
    mutating func next(
        _ bytes: UnsafeRawBufferPointer
    ) -> (piece: MixedReplaceReader.Piece?, following: UnsafeRawBufferPointer)? {
        guard let (piece, consumed) = reader?.next(bytes) else { return nil }
        return (piece, UnsafeRawBufferPointer(rebasing: bytes[consumed...]))
    }

    /// Keeps what has come behind a part's head.
    mutating func hold(_ bytes: UnsafeRawBufferPointer) { held = Array(bytes) }

    /// What was kept, which is to be delivered now; nil where nothing was.
    mutating func release() -> [UInt8]? {
        defer { held = nil }
        return held
    }

    /// Nothing more of the body is of use.
    mutating func end(with step: Exchange.NextStep) {
        reader = nil
        nextStep = step
    }

    /// What follows the body, once.
    mutating func takeNextStep() -> Exchange.NextStep? {
        defer { nextStep = nil }
        return nextStep
    }

    /// The body is over: its last piece, if there was any.
    mutating func finish() -> MixedReplaceReader.Piece? {
        defer { reader = nil }
        return reader?.finish()
    }

    /// The next response begins at zero.
    mutating func drop() {
        reader = nil
        held = nil
        nextStep = nil
    }
}

extension ResponseRecord {
    /// The response that a part stands for: with the part's own fields alone.
    init(part headers: HeaderList, of record: TaskRecord) {
        let type = headers.first("Content-Type").flatMap(MediaType.init(parsing:))
        let length = (try? ContentLength.parse(headers.values(of: "Content-Length"))) ?? nil
        self.init(
            url: record.currentRequest.url.string, status: record.response?.status ?? 200,
            httpVersion: record.response?.httpVersion ?? "1.1", headers: headers,
            expectedContentLength: length ?? unknownSize, mimeType: type?.mimeType,
            textEncodingName: type?.textEncodingName,
            suggestedFilename: SuggestedFilename.choose(
                contentDisposition: headers.first("Content-Disposition"),
                url: record.currentRequest.url, mimeType: type?.mimeType))
    }
}
