/// Events go to whoever may hear them; the values of cookies are for who may see the jar, or the
/// task's own answer.
extension EventBody {
    /// The event with `<redacted>` in place of the values that its response's `Set-Cookie` fields
    /// set. Names and attributes stay; so does everything else.
    public var withoutCookieValues: EventBody {
        switch self {
        case .didReceiveResponse(let response, let decision) where response.setsCookies:
            .didReceiveResponse(response.withoutCookieValues, decision: decision)
        case .didReceiveInformationalResponse(let status, let headers):
            .didReceiveInformationalResponse(
                status: status, headers: headers.withoutCookieValues)
        case .didReceiveChallenge(let challenge, let decision):
            .didReceiveChallenge(challenge.withoutCookieValues, decision: decision)
        case .willPerformHTTPRedirection(let response, let request, let decision)
        where response.setsCookies:
            .willPerformHTTPRedirection(
                response.withoutCookieValues, request: request, decision: decision)
        case .willCacheResponse(let response, let decision) where response.setsCookies:
            .willCacheResponse(response.withoutCookieValues, decision: decision)
        default: self
        }
    }
}

extension ResponseRecord {
    /// The response with `<redacted>` in place of the values that its `Set-Cookie` fields set.
    public var withoutCookieValues: ResponseRecord {
        guard setsCookies else { return self }
        var response = self
        response.headers = headers.withoutCookieValues
        return response
    }

    fileprivate var setsCookies: Bool {
        headers.fields.indices.contains { headers.fields[$0].setsCookie }
    }
}

extension Challenge {
    fileprivate var withoutCookieValues: Challenge {
        var challenge = self
        challenge.failureResponse = failureResponse?.withoutCookieValues
        return challenge
    }
}

extension HeaderList {
    /// The fields with `<redacted>` in place of the values that `Set-Cookie` ones set.
    fileprivate var withoutCookieValues: HeaderList {
        HeaderList(
            fields.map { field in
                guard field.setsCookie else { return field }
                return HeaderField(field.name, Self.hidingValue(of: field.value))
            })
    }

    /// `name=<redacted>; attributes`; of a cookie without a name, and so of what is none, nothing
    /// but the attributes stays.
    private static func hidingValue(of field: String) -> String {
        let end = field.utf8.firstIndex(of: UInt8(ascii: ";")) ?? field.utf8.endIndex
        let pair = field[..<end]
        let name = pair.utf8.firstIndex(of: UInt8(ascii: "=")).map { pair[...$0] } ?? ""
        return name + "<redacted>" + field[end...]
    }
}

extension HeaderField {
    fileprivate var setsCookie: Bool {
        name.equalsIgnoringCase("Set-Cookie") || name.equalsIgnoringCase("Set-Cookie2")
    }
}
