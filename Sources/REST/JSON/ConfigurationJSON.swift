internal import Engine
internal import HTTP
internal import JSON
internal import Semantics

/// A configuration as a client gave it, with the members that are not what can be done yet.
struct ConfigurationDraft {
    private var value = SessionConfiguration()
    private var cookieStorage = "private"
    private var credentialStorage = "private"
    private var proxies: ProxyDraft?

    init() {}

    init(_ reader: inout JSONReader) throws(JSONError) {
        try reader.object { reader, name throws(JSONError) in
            if try readInForce(name, &reader) { return }
            if try readNotYetInForce(name, &reader) { return }
            if try readWithoutEffect(name, &reader) { return }
            throw reader.unknownMember(name)
        }
    }

    private mutating func readInForce(
        _ name: String, _ reader: inout JSONReader
    ) throws(JSONError) -> Bool {
        switch name {
        case "timeoutIntervalForRequest":
            value.timeoutIntervalForRequest = try reader.interval()
        case "timeoutIntervalForResource":
            value.timeoutIntervalForResource = try reader.interval()
        case "httpMaximumConnectionsPerHost":
            value.httpMaximumConnectionsPerHost = try reader.int(in: 1...10_000)
        case "httpAdditionalHeaders":
            value.httpAdditionalHeaders =
                try reader.optional { r throws(JSONError) in try HeaderList(json: &r) }
                ?? HeaderList()
        case "tlsMinimumSupportedProtocolVersion":
            value.tlsMinimumSupportedProtocolVersion = try reader.choice()
        case "tlsMaximumSupportedProtocolVersion":
            value.tlsMaximumSupportedProtocolVersion = try reader.choice()
        case "connectionProxyDictionary":
            proxies = try reader.optional { r throws(JSONError) in try ProxyDraft(&r) }
        default: return false
        }
        return true
    }

    private mutating func readNotYetInForce(
        _ name: String, _ reader: inout JSONReader
    ) throws(JSONError) -> Bool {
        switch name {
        case "requestCachePolicy": value.requestCachePolicy = try reader.choice()
        case "urlCache": value.urlCache = try CacheCapacity(json: &reader)
        case "httpCookieAcceptPolicy": value.httpCookieAcceptPolicy = try reader.choice()
        case "httpShouldSetCookies": value.httpShouldSetCookies = try reader.bool()
        case "httpCookieStorage": cookieStorage = try reader.optionalString() ?? "null"
        case "urlCredentialStorage": credentialStorage = try reader.optionalString() ?? "null"
        case "waitsForConnectivity": value.waitsForConnectivity = try reader.bool()
        case "isDiscretionary": value.isDiscretionary = try reader.bool()
        default: return false
        }
        return true
    }

    private mutating func readWithoutEffect(
        _ name: String, _ reader: inout JSONReader
    ) throws(JSONError) -> Bool {
        switch name {
        case "httpShouldUsePipelining": value.httpShouldUsePipelining = try reader.bool()
        case "allowsCellularAccess": value.allowsCellularAccess = try reader.bool()
        case "allowsExpensiveNetworkAccess": value.allowsExpensiveNetworkAccess = try reader.bool()
        case "allowsConstrainedNetworkAccess":
            value.allowsConstrainedNetworkAccess = try reader.bool()
        case "multipathServiceType":
            value.multipathServiceType = try reader.word(of: multipathServiceTypes)
        case "networkServiceType":
            value.networkServiceType = try reader.word(of: networkServiceTypes)
        default: return false
        }
        return true
    }

    /// The configuration, if it asks for nothing that is not in force; `parse` is the one parser of URLs (X-4).
    func checked(
        parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> SessionConfiguration {
        let plain = SessionConfiguration()
        let changed: [(String, Bool)] = [
            ("requestCachePolicy", value.requestCachePolicy != plain.requestCachePolicy),
            ("urlCache", value.urlCache != plain.urlCache),
            (
                "httpCookieAcceptPolicy",
                value.httpCookieAcceptPolicy != plain.httpCookieAcceptPolicy
            ),
            ("httpShouldSetCookies", value.httpShouldSetCookies != plain.httpShouldSetCookies),
            ("httpCookieStorage", cookieStorage != "private"),
            ("urlCredentialStorage", credentialStorage != "private"),
            ("waitsForConnectivity", value.waitsForConnectivity != plain.waitsForConnectivity),
            ("isDiscretionary", value.isDiscretionary != plain.isDiscretionary),
        ]
        if let (name, _) = changed.first(where: \.1) {
            throw ProblemCode.notYetSupported.problem(
                "Only the default is accepted until this comes into force.",
                at: "/configuration/\(name)")
        }
        guard
            value.tlsMinimumSupportedProtocolVersion <= value.tlsMaximumSupportedProtocolVersion
        else {
            throw ProblemCode.invalidValue.problem(
                "The minimum must not be above the maximum.",
                at: "/configuration/tlsMinimumSupportedProtocolVersion")
        }
        try value.httpAdditionalHeaders.check(at: "/configuration/httpAdditionalHeaders")
        var checked = value
        checked.connectionProxyDictionary = try proxies?.configuration(
            at: "/configuration/connectionProxyDictionary", parse: parse)
        return checked
    }
}

extension SessionConfiguration {
    /// Every property, so that what is answered can be posted again (S-5).
    func writeMembers(to json: inout JSONWriter) {
        json.member("timeoutIntervalForRequest", timeoutIntervalForRequest)
        json.member("timeoutIntervalForResource", timeoutIntervalForResource)
        json.member("httpMaximumConnectionsPerHost", httpMaximumConnectionsPerHost)
        json.name("httpAdditionalHeaders")
        httpAdditionalHeaders.writeObject(to: &json, hiding: [])
        json.member("requestCachePolicy", requestCachePolicy.rawValue)
        json.object("urlCache") { json in
            json.member("memoryCapacity", urlCache.memoryCapacity)
            json.member("diskCapacity", urlCache.diskCapacity)
        }
        json.member("httpCookieAcceptPolicy", httpCookieAcceptPolicy.rawValue)
        json.member("httpShouldSetCookies", httpShouldSetCookies)
        json.member("httpCookieStorage", "private")
        json.member("urlCredentialStorage", "private")
        json.member(
            "tlsMinimumSupportedProtocolVersion", tlsMinimumSupportedProtocolVersion.rawValue)
        json.member(
            "tlsMaximumSupportedProtocolVersion", tlsMaximumSupportedProtocolVersion.rawValue)
        json.name("connectionProxyDictionary")
        if let proxies = connectionProxyDictionary {
            proxies.write(to: &json)
        } else {
            json.null()
        }
        json.member("waitsForConnectivity", waitsForConnectivity)
        json.member("isDiscretionary", isDiscretionary)
        json.member("httpShouldUsePipelining", httpShouldUsePipelining)
        json.member("allowsCellularAccess", allowsCellularAccess)
        json.member("allowsExpensiveNetworkAccess", allowsExpensiveNetworkAccess)
        json.member("allowsConstrainedNetworkAccess", allowsConstrainedNetworkAccess)
        json.member("multipathServiceType", multipathServiceType)
        json.member("networkServiceType", networkServiceType)
    }
}

extension CacheCapacity {
    fileprivate init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "memoryCapacity": memoryCapacity = try reader.int64(in: 0...(1 << 50))
            case "diskCapacity": diskCapacity = try reader.int64(in: 0...(1 << 50))
            default: throw reader.unknownMember(name)
            }
        }
    }
}

extension JSONReader {
    /// Seconds: more than nothing, at most a year.
    mutating func interval() throws(JSONError) -> Double {
        let seconds = try double(in: 0...31_536_000)
        guard seconds > 0 else { throw fail("must be greater than 0") }
        return seconds
    }

    /// One of Foundation's names.
    fileprivate mutating func word(of words: [String]) throws(JSONError) -> String {
        let text = try string()
        guard words.contains(text) else {
            throw fail("must be one of \(words.joined(separator: ", "))")
        }
        return text
    }
}

/// URLSessionConfiguration.MultipathServiceType.
private let multipathServiceTypes = ["none", "handover", "interactive", "aggregate"]

/// NSURLRequest.NetworkServiceType.
private let networkServiceTypes = [
    "default", "voip", "video", "background", "voice", "responsiveData", "avStreaming",
    "responsiveAV", "callSignaling",
]
