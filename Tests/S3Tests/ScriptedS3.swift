import Glibc
import Sealing
import Syntax
import Synchronization
import TestSupport

/// An S3 of a test's own, whose answers it can spoil one by one; only moto checks signatures.
final class ScriptedS3: Sendable {
    /// What happens to a request in place of its answer.
    enum Fault: Sendable {
        /// An error document with this status.
        case answer(Int, String)
        /// It is done, and the connection is cut before the answer.
        case lostAnswer
        /// The connection is cut within the request's body, or within the answer's.
        case cut
        /// It is done, and the answer is 200 with another body.
        case otherBody(String)
        /// It is not done, and the answer is 200 with this body.
        case onlyBody(String)
        /// A HEAD is told this length.
        case length(Int)
        /// It is done, and answered, once a gate is open.
        case held(Gate)
    }

    /// Decides about a request by its operation, such as `UploadPart`.
    typealias Script = @Sendable (_ operation: String, _ request: RecordedRequest) -> Fault?

    private struct Object {
        var bytes: [UInt8]
        var version: Int
    }

    private struct State {
        var objects: [String: Object] = [:]
        var uploads: [String: (key: String, parts: [Int: [UInt8]])] = [:]
        var count = 0
        var operations: [String] = []
        var script: Script = { _, _ in nil }
        var mostBytes = 0
    }

    let origin: ScriptedOrigin
    private let state = Mutex(State())

    init(port: UInt16 = 0) throws {
        origin = try ScriptedOrigin(port: port)
        origin.otherwise(Behaviour { [weak self] in try self?.serve($0) })
    }

    /// Where contents are to be put.
    var place: String { "s3://bucket/p?endpoint=http://127.0.0.1:\(origin.port)" }

    /// What spoils requests from now on.
    func spoil(_ script: @escaping Script) { state.withLock { $0.script = script } }

    /// The names of the objects, without the mark.
    var keys: [String] {
        state.withLock { $0.objects.keys.sorted().filter { !$0.hasSuffix("ferry-contents") } }
    }

    /// Uploads that were begun, and neither completed nor aborted.
    var uploadCount: Int { state.withLock(\.uploads.count) }

    /// What has been asked for, in order.
    var operations: [String] { state.withLock(\.operations) }

    func count(_ operation: String) -> Int { operations.count { $0 == operation } }

    /// Replaces the bytes of every object.
    func replaceAll(by bytes: [UInt8]) {
        state.withLock { state in
            for key in state.objects.keys {
                state.count += 1
                state.objects[key] = Object(bytes: bytes, version: state.count)
            }
        }
    }

    /// Leaves an upload behind, as a process does that dies.
    func leaveUpload(of key: String) {
        state.withLock {
            $0.count += 1
            $0.uploads["u\($0.count)"] = (key, [:])
        }
    }

    // MARK: Answers

    private func serve(_ exchange: Exchange) throws {
        let request = exchange.request
        let operation = Self.operation(of: request)
        let script = state.withLock { state in
            state.operations.append(operation)
            return state.script
        }
        let fault = script(operation, request)
        if case .cut = fault, request.method == "PUT" {
            _ = try exchange.readBody(upTo: 1000)
            return exchange.reset()
        }
        let body = try exchange.readWholeBody()
        if case .answer(let status, let code) = fault {
            return try answer(exchange, status, "<Error><Code>\(code)</Code></Error>")
        }
        if case .onlyBody(let text) = fault { return try answer(exchange, 200, text) }
        if case .held(let gate) = fault { Self.wait(for: gate) }
        var answer = perform(operation, request, body)
        if case .otherBody(let text) = fault { answer.body = Array(text.utf8) }
        if case .length(let length) = fault { answer.length = length }
        switch fault {
        case .lostAnswer: exchange.reset()
        case .cut:
            try exchange.head(answer.status, answer.headers(of: answer.body.count))
            try exchange.body(answer.body.prefix(answer.body.count / 2))
            exchange.reset()
        default:
            try exchange.head(answer.status, answer.headers(of: answer.length ?? answer.body.count))
            if request.method != "HEAD" { try exchange.body(answer.body) }
        }
    }

    /// Blocks the connection's thread.
    private static func wait(for gate: Gate) {
        for _ in 0..<60_000 where !gate.isOpen { usleep(1000) }
    }

    private func answer(_ exchange: Exchange, _ status: Int, _ text: String) throws {
        let isHead = exchange.request.method == "HEAD"
        try exchange.head(status, ["Content-Length": "\(isHead ? 0 : text.utf8.count)"])
        if !isHead { try exchange.body(text) }
    }

    private static func operation(of request: RecordedRequest) -> String {
        let query = request.query ?? ""
        let isCopy = request.headers["x-amz-copy-source"] != nil
        switch request.method {
        case "HEAD": return "HeadObject"
        case "GET":
            if query.contains("list-type") { return "ListObjectsV2" }
            return query.contains("uploads") ? "ListMultipartUploads" : "GetObject"
        case "PUT":
            if query.contains("partNumber") { return isCopy ? "UploadPartCopy" : "UploadPart" }
            return isCopy ? "CopyObject" : "PutObject"
        case "DELETE": return query.contains("uploadId") ? "AbortMultipartUpload" : "DeleteObject"
        default:
            if query.contains("uploads") { return "CreateMultipartUpload" }
            return query.contains("delete") ? "DeleteObjects" : "CompleteMultipartUpload"
        }
    }

    private struct Answer {
        var status = 200
        var fields: HeaderLines = [:]
        var body: [UInt8] = []
        /// Of an answer to HEAD.
        var length: Int?

        init(_ status: Int = 200, _ fields: HeaderLines = [:], _ body: [UInt8] = []) {
            (self.status, self.fields, self.body) = (status, fields, body)
        }

        init(_ text: String) { body = Array(text.utf8) }

        static let missing = Answer(404, [:], Array("<Error><Code>NoSuchKey</Code></Error>".utf8))

        func headers(of length: Int) -> HeaderLines {
            fields.appending(["Content-Length": "\(length)"])
        }
    }

    private func perform(
        _ operation: String, _ request: RecordedRequest, _ body: [UInt8]
    ) -> Answer {
        let key = String(request.path.dropFirst("/bucket/".count))
        let options = (request.query ?? "").split(separator: "&").map {
            $0.split(separator: "=", maxSplits: 1).map(String.init)
        }
        let query = Dictionary(options.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { $1 }
        let upload = query["uploadId"] ?? ""
        return state.withLock { state in
            state.count += 1
            switch operation {
            case "HeadObject":
                guard let object = state.objects[key] else { return .missing }
                var answer = Answer(200, ["ETag": "\"\(object.version)\""])
                answer.length = object.bytes.count
                return answer
            case "GetObject": return read(state.objects[key], request)
            case "PutObject":
                state.objects[key] = Object(bytes: body, version: state.count)
                return Answer(200, ["ETag": "\"\(state.count)\""])
            case "CreateMultipartUpload":
                state.uploads["u\(state.count)"] = (key, [:])
                return Answer("<R><UploadId>u\(state.count)</UploadId></R>")
            case "UploadPart":
                guard state.uploads[upload] != nil else { return .missing }
                state.uploads[upload]?.parts[Int(query["partNumber"] ?? "") ?? 0] = body
                return Answer(200, ["ETag": "\"part\(query["partNumber"] ?? "")\""])
            case "UploadPartCopy":
                let source = request.headers["x-amz-copy-source"] ?? ""
                guard state.uploads[upload] != nil,
                    let object = state.objects[String(source.dropFirst("/bucket/".count))]
                else { return .missing }
                state.uploads[upload]?.parts[Int(query["partNumber"] ?? "") ?? 0] = object.bytes
                return Answer("<CopyPartResult><ETag>\"copy\"</ETag></CopyPartResult>")
            case "CopyObject":
                let source = request.headers["x-amz-copy-source"] ?? ""
                guard let object = state.objects[String(source.dropFirst("/bucket/".count))] else {
                    return .missing
                }
                state.objects[key] = Object(bytes: object.bytes, version: state.count)
                return Answer("<CopyObjectResult><ETag>\"copy\"</ETag></CopyObjectResult>")
            case "CompleteMultipartUpload":
                guard let made = state.uploads.removeValue(forKey: upload) else { return .missing }
                let bytes = made.parts.sorted { $0.key < $1.key }.flatMap(\.value)
                state.objects[key] = Object(bytes: bytes, version: state.count)
                return Answer("<CompleteMultipartUploadResult/>")
            case "AbortMultipartUpload":
                return state.uploads.removeValue(forKey: upload) == nil ? .missing : Answer(204)
            case "DeleteObjects":
                for key in String(decoding: body, as: UTF8.self).components(between: "Key") {
                    state.objects[key] = nil
                }
                return Answer("<DeleteResult/>")
            case "DeleteObject":
                return state.objects.removeValue(forKey: key) == nil ? .missing : Answer(204)
            case "ListMultipartUploads":
                let list = state.uploads.map {
                    "<Upload><Key>\($1.key)</Key><UploadId>\($0)</UploadId></Upload>"
                }
                return Answer(
                    "<ListMultipartUploadsResult>\(list.joined())</ListMultipartUploadsResult>")
            case "ListObjectsV2":
                let list = state.objects.map {
                    "<Contents><Key>\($0)</Key><Size>\($1.bytes.count)</Size></Contents>"
                }
                return Answer("<ListBucketResult>\(list.joined())</ListBucketResult>")
            default: return Answer(501)
            }
        }
    }

    private func read(_ object: Object?, _ request: RecordedRequest) -> Answer {
        guard let object else { return .missing }
        let tag = "\"\(object.version)\""
        if let wanted = request.headers["if-match"], wanted != tag {
            return Answer(412, [:], Array("<Error><Code>PreconditionFailed</Code></Error>".utf8))
        }
        guard let range = request.headers["range"] else {
            return Answer(200, ["ETag": tag], object.bytes)
        }
        let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
        let bytes = Array(object.bytes[ends[0]...min(ends[1], object.bytes.count - 1)])
        let place = "bytes \(ends[0])-\(ends[0] + bytes.count - 1)/\(object.bytes.count)"
        return Answer(206, ["ETag": tag, "Content-Range": place], bytes)
    }
}

extension String {
    /// The texts of the elements of a name, which have no attributes and no elements in them.
    fileprivate func components(between name: String) -> [String] {
        split(separator: "<\(name)>").dropFirst().compactMap {
            $0.split(separator: "</\(name)>").first.map(String.init)
        }
    }
}
