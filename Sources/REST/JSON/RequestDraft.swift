internal import Engine
internal import HTTP
internal import JSON
internal import Semantics

/// The request of a task as a client describes it (`RequestSpec` of openapi.yaml), read but not judged.
struct RequestDraft {
    private var url = ""
    private var method: String?
    private var headers = HeaderList()
    private var sensitiveHeaders: [String] = []
    private var cachePolicy: RequestCachePolicy?
    private var timeoutInterval: Double?

    init(_ reader: inout JSONReader) throws(JSONError) {
        var hasURL = false
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "url":
                url = try reader.string()
                hasURL = true
            case "method": method = try reader.string()
            case "headers": headers = try HeaderList(json: &reader)
            case "sensitiveHeaders":
                try reader.array { r throws(JSONError) in
                    sensitiveHeaders.append(try r.string())
                }
            case "cachePolicy":
                cachePolicy = try reader.optional { r throws(JSONError) in try r.choice() }
            case "timeoutInterval":
                timeoutInterval = try reader.optional { r throws(JSONError) in try r.interval() }
            default: throw reader.unknownMember(name)
            }
        }
        if !hasURL { throw reader.fail("is missing", at: "url") }
    }

    /// The request that is asked for, without a body.
    ///
    /// - Parameters:
    ///   - pointer: where the description stands.
    ///   - defaultMethod: the method where the description names none.
    ///   - parse: the one parser of URLs.
    /// - Returns: the request, with every member checked.
    /// - Throws: the 422 of the first member that is wrong.
    func record(
        at pointer: String, method defaultMethod: String,
        parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> RequestRecord {
        let url: WebURL
        do {
            url = try parse(self.url)
        } catch {
            throw Problem(error, at: pointer + "/url")
        }
        let method = method ?? defaultMethod
        do {
            try HeaderRules.check(method: method)
        } catch {
            throw ProblemCode.invalidHeader.problem(error.sentence, at: pointer + "/method")
        }
        try headers.check(at: pointer + "/headers", sensitive: sensitiveHeaders)
        for (index, name) in sensitiveHeaders.enumerated() {
            do {
                try HeaderRules.check(name: name)
            } catch {
                throw ProblemCode.invalidHeader.problem(
                    error.sentence, at: "\(pointer)/sensitiveHeaders/\(index)")
            }
        }
        return RequestRecord(
            url: url, method: method, headers: headers, sensitiveHeaders: sensitiveHeaders,
            cachePolicy: cachePolicy, timeoutInterval: timeoutInterval)
    }
}
