internal import Engine
internal import HTTP
internal import JSON
internal import Semantics

/// A task as a client describes it (`TaskSpec` of openapi.yaml), read but not judged.
struct TaskDraft {
    private struct Request {
        var url = ""
        var method = "GET"
        var headers = HeaderList()
        var sensitiveHeaders: [String] = []
        var cachePolicy: RequestCachePolicy?
        var timeoutInterval: Double?
    }

    private var type = TaskType.data
    private var resume = false
    private var request: Request?
    private var body: [UInt8]?
    private var bodyType: String?
    private var options = TaskOptions()
    private var expectedDigest: String?
    /// The first member that asks for what does not exist yet.
    private var notYetSupported: String?

    init(_ reader: inout JSONReader) throws(JSONError) {
        var hasType = false
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "type":
                type = try reader.choice()
                hasType = true
            case "resume": resume = try reader.bool()
            case "request": request = try TaskDraft.request(&reader)
            case "body": try readBody(&reader)
            case "resumeData":
                if try !reader.takeNull() {
                    try reader.skipValue()
                    notYetSupported = notYetSupported ?? "/resumeData"
                }
            case "expectedDigest": expectedDigest = try reader.optionalString()
            default: try readOption(name, &reader)
            }
        }
        if !hasType { throw reader.fail("is missing", at: "type") }
        if request == nil, notYetSupported == nil { throw reader.fail("is missing", at: "request") }
    }

    private mutating func readOption(
        _ name: String, _ reader: inout JSONReader
    ) throws(JSONError) {
        switch name {
        case "priority": options.priority = try reader.double(in: 0...1)
        case "description": options.description = try reader.optionalString()
        case "delivery":
            guard let delivery = Delivery(rawValue: try reader.string()) else {
                throw reader.fail("must be \"collect\" or \"stream\"")
            }
            options.delivery = delivery
        case "fileName": options.fileName = try reader.optionalString()
        case "computeDigest": options.computeDigest = try reader.bool()
        case "earliestBeginDate":
            options.earliestBeginDate = try reader.optional { r throws(JSONError) in
                Timestamp(milliseconds: try r.instant())
            }
        case "countOfBytesClientExpectsToSend":
            options.countOfBytesClientExpectsToSend = try reader.int64(in: -1 ... .max)
        case "countOfBytesClientExpectsToReceive":
            options.countOfBytesClientExpectsToReceive = try reader.int64(in: -1 ... .max)
        default: throw reader.unknownMember(name)
        }
    }

    private static func request(_ reader: inout JSONReader) throws(JSONError) -> Request {
        var request = Request()
        var hasURL = false
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "url":
                request.url = try reader.string()
                hasURL = true
            case "method": request.method = try reader.string()
            case "headers": request.headers = try HeaderList(json: &reader)
            case "sensitiveHeaders":
                try reader.array { r throws(JSONError) in
                    request.sensitiveHeaders.append(try r.string())
                }
            case "cachePolicy":
                request.cachePolicy = try reader.optional { r throws(JSONError) in try r.choice() }
            case "timeoutInterval":
                request.timeoutInterval = try reader.optional { r throws(JSONError) in
                    try r.interval()
                }
            default: throw reader.unknownMember(name)
            }
        }
        if !hasURL { throw reader.fail("is missing", at: "url") }
        return request
    }

    private mutating func readBody(_ reader: inout JSONReader) throws(JSONError) {
        if try reader.takeNull() { return }
        var count = 0
        try reader.object { reader, name throws(JSONError) in
            count += 1
            switch name {
            case "data": body = try reader.base64()
            case "text":
                body = Array(try reader.string().utf8)
                bodyType = "text/plain; charset=utf-8"
            case "json":
                body = try reader.rawValue()
                bodyType = "application/json"
            case "file", "task", "stream":
                try reader.skipValue()
                notYetSupported = notYetSupported ?? "/body/\(name)"
            default: throw reader.unknownMember(name)
            }
        }
        if count != 1 { throw reader.fail("must have exactly one member") }
    }

    /// The task that is asked for.
    ///
    /// - Parameters:
    ///   - prefix: where the description stands in the request, for pointers.
    ///   - inline: whether the session's events carry the bytes, which rules out `stream` (S-58).
    ///   - parse: the one parser of URLs.
    /// - Returns: the task, with every member checked.
    /// - Throws: the 422 of the first member that is wrong or not supported yet.
    func spec(
        at prefix: String, inline: Bool, parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> TaskSpec {
        if type == .upload {
            throw ProblemCode.notYetSupported.problem(
                "Upload tasks come later; a data task may have a body.", at: prefix + "/type")
        }
        if let notYetSupported {
            throw ProblemCode.notYetSupported.problem(at: prefix + notYetSupported)
        }
        return TaskSpec(
            type: type, request: try requestRecord(at: prefix, parse: parse),
            options: try checkedOptions(at: prefix, inline: inline), resume: resume)
    }

    private func requestRecord(
        at prefix: String, parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> RequestRecord {
        guard let request else {
            throw ProblemCode.invalidValue.problem("The request is missing.", at: prefix)
        }
        let url: WebURL
        do {
            url = try parse(request.url)
        } catch {
            throw Problem(error, at: prefix + "/request/url")
        }
        do {
            try HeaderRules.check(method: request.method)
        } catch {
            throw ProblemCode.invalidHeader.problem(error.sentence, at: prefix + "/request/method")
        }
        try request.headers.check(
            at: prefix + "/request/headers", sensitive: request.sensitiveHeaders)
        for (index, name) in request.sensitiveHeaders.enumerated() {
            do {
                try HeaderRules.check(name: name)
            } catch {
                throw ProblemCode.invalidHeader.problem(
                    error.sentence, at: "\(prefix)/request/sensitiveHeaders/\(index)")
            }
        }
        if let policy = request.cachePolicy, policy != .useProtocolCachePolicy {
            throw ProblemCode.notYetSupported.problem(
                "The cache comes later.", at: prefix + "/request/cachePolicy")
        }
        if body != nil, ["GET", "HEAD"].contains(request.method) {
            throw ProblemCode.invalidValue.problem(
                "A \(request.method) request has no body; name another method.",
                at: prefix + "/body")
        }
        var headers = request.headers
        if let bodyType, !headers.contains("Content-Type") {
            headers.append("Content-Type", bodyType)
        }
        return RequestRecord(
            url: url, method: request.method, headers: headers,
            sensitiveHeaders: request.sensitiveHeaders, cachePolicy: request.cachePolicy,
            timeoutInterval: request.timeoutInterval, body: body)
    }

    private func checkedOptions(at prefix: String, inline: Bool) throws(Problem) -> TaskOptions {
        var options = options
        if let expectedDigest {
            do {
                options.expectedDigest = try ContentDigest(parsing: expectedDigest)
            } catch {
                throw ProblemCode.invalidValue.problem(
                    "The value must be like sha-256=:…: (RFC 9530), with sha-256 or sha-512.",
                    at: prefix + "/expectedDigest")
            }
        }
        if options.delivery == .stream {
            guard type == .data else {
                throw ProblemCode.invalidValue.problem(
                    "Only a data task's content can be streamed.", at: prefix + "/delivery")
            }
            guard !inline else {
                throw ProblemCode.invalidValue.problem(
                    "The session delivers data inline, which needs delivery \"collect\".",
                    at: prefix + "/delivery")
            }
            guard options.expectedDigest == nil, !options.computeDigest else {
                throw ProblemCode.invalidValue.problem(
                    "A digest needs delivery \"collect\": "
                        + "bytes that are gone cannot be taken back.",
                    at: prefix + "/delivery")
            }
        }
        if let description = options.description, description.utf8.count > 1024 {
            throw ProblemCode.invalidValue.problem(
                "The value must not be longer than 1,024 bytes.", at: prefix + "/description")
        }
        if let name = options.fileName, SuggestedFilename.sanitized(name) != name {
            throw ProblemCode.invalidValue.problem(
                "The value must be a plain file name of at most 255 bytes.",
                at: prefix + "/fileName")
        }
        return options
    }
}
