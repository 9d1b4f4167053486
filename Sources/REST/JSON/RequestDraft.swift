internal import Engine
internal import HTTP
internal import JSON
internal import Semantics

/// The request of a task as a client describes it (`RequestSpec` of openapi.yaml), read but not
/// judged.
struct RequestDraft {
    private(set) var url = ""
    private var method: String?
    var headers = HeaderList()
    var sensitiveHeaders: [String] = []
    private var cachePolicy: RequestCachePolicy?
    private var timeoutInterval: Double?

    /// Reads the members of a task's request.
    init(_ reader: inout JSONReader) throws(JSONError) {
        try self.init(&reader, url: { r throws(JSONError) in try r.urlText() }) { _, _ in false }
    }

    /// Reads the members; `readMore` answers whether it knows, and has read, one that is none of a
    /// task's request.
    init(
        _ reader: inout JSONReader,
        url readURL: (inout JSONReader) throws(JSONError) -> String,
        and readMore: (inout JSONReader, String) throws(JSONError) -> Bool
    ) throws(JSONError) {
        var hasURL = false
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "url":
                url = try readURL(&reader)
                hasURL = true
            case "method": method = try reader.string()
            case "headers": headers = try HeaderList(json: &reader)
            case "sensitiveHeaders":
                try reader.array { r throws(JSONError) in
                    // Of too many, one more than passes the check.
                    guard sensitiveHeaders.count <= HeaderRules.fieldLimit else {
                        return try r.skipValue()
                    }
                    sensitiveHeaders.append(try r.string())
                }
            case "cachePolicy":
                cachePolicy = try reader.optional { r throws(JSONError) in try r.choice() }
            case "timeoutInterval":
                timeoutInterval = try reader.optional { r throws(JSONError) in try r.interval() }
            default:
                guard try readMore(&reader, name) else { throw reader.unknownMember(name) }
            }
        }
        if !hasURL { throw reader.fail("is missing", at: "url") }
    }

    /// The request that is asked for, without a body, and without the Content-Length that
    /// `body(_:at:)` looks at.
    ///
    /// - Parameters:
    ///   - pointer: where the description stands.
    ///   - defaultMethod: the method where the description names none.
    ///   - joining: the names of headers that may be marked as sensitive beside the request's own.
    ///   - parse: the one parser of URLs.
    /// - Returns: the request, with every member checked.
    /// - Throws: the 422 of the first member that is wrong.
    func record(
        at pointer: @autoclosure () -> String, method defaultMethod: String, joining: [String],
        parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> RequestRecord {
        let url: WebURL
        do {
            url = try parse(self.url)
        } catch {
            throw Problem(error, at: pointer() + "/url")
        }
        let method = method ?? defaultMethod
        do {
            try HeaderRules.check(method: method)
        } catch {
            throw ProblemCode.invalidHeader.problem(error.sentence, at: pointer() + "/method")
        }
        let headers = headers.removing(["Content-Length"])
        try headers.check(at: pointer() + "/headers", sensitive: sensitiveHeaders)
        do {
            try HeaderRules.check(
                sensitive: sensitiveHeaders, known: self.headers.fields.map(\.name) + joining)
        } catch {
            throw ProblemCode.invalidHeader.problem(
                error.sentence, at: "\(pointer())/sensitiveHeaders/\(error.index)")
        }
        return RequestRecord(
            url: url, method: method, headers: headers, sensitiveHeaders: sensitiveHeaders,
            cachePolicy: cachePolicy, timeoutInterval: timeoutInterval)
    }

    /// The request's body, once it agrees with the Content-Length that the client gives; of a
    /// stream with that length.
    func body(
        _ body: BodyRecord?, at pointer: @autoclosure () -> String
    ) throws(Problem) -> BodyRecord? {
        do {
            return try ContentLength.agreed(body, with: headers.values(of: "Content-Length"))
        } catch {
            let name = headers.fields.first { $0.name.lowercased() == "content-length" }?.name
            throw ProblemCode.invalidHeader.problem(
                error.sentence,
                at: "\(pointer())/headers" + JSONPointer.text([name ?? "Content-Length"]))
        }
    }
}
