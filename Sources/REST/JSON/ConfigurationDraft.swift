internal import Contract
internal import Engine
internal import HTTP
internal import JSON
internal import Semantics

/// A configuration as a client gives it (`Configuration` of openapi.yaml), read but not judged.
struct ConfigurationDraft {
    private var value = SessionConfiguration()
    private var httpMaximumConnectionsPerHost: Int?
    private var proxies: ProxyDraft?

    /// Foundation's for background sessions.
    private static let connectionsPerHostInBackground = 4

    init() {}

    init(_ reader: inout JSONReader) throws(JSONError) {
        try reader.object { reader, name throws(JSONError) in
            if try readInForce(name, &reader) { return }
            if try readStores(name, &reader) { return }
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
            httpMaximumConnectionsPerHost = try reader.int(in: 1...10_000)
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
        case "waitsForConnectivity": value.waitsForConnectivity = try reader.bool()
        case "isDiscretionary": value.isDiscretionary = try reader.bool()
        case "propagatesTraceContext": value.propagatesTraceContext = try reader.bool()
        default: return false
        }
        return true
    }

    /// What the session remembers.
    private mutating func readStores(
        _ name: String, _ reader: inout JSONReader
    ) throws(JSONError) -> Bool {
        switch name {
        case "requestCachePolicy": value.requestCachePolicy = try reader.choice()
        case "urlCache":
            value.urlCache =
                try reader.optional { r throws(JSONError) in try CacheCapacity(json: &r) } ?? .none
        case "httpCookieAcceptPolicy": value.httpCookieAcceptPolicy = try reader.choice()
        case "httpShouldSetCookies": value.httpShouldSetCookies = try reader.bool()
        case "httpCookieStorage": value.hasCookieStorage = try reader.hasPrivateStorage()
        case "urlCredentialStorage": value.hasCredentialStorage = try reader.hasPrivateStorage()
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

    /// The configuration, if its members go together.
    ///
    /// - Parameters:
    ///   - isBackground: whether it is a background session's, which has defaults of its own, and
    ///     always waits for connectivity.
    ///   - parse: the one parser of URLs (X-4).
    /// - Returns: the configuration as it is kept.
    /// - Throws: the 422 of the first member that is wrong.
    func checked(
        inBackground isBackground: Bool, parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> SessionConfiguration {
        guard
            value.tlsMinimumSupportedProtocolVersion <= value.tlsMaximumSupportedProtocolVersion
        else {
            throw ProblemCode.invalidValue.problem(
                "The minimum must not be above the maximum.",
                at: "/configuration/tlsMinimumSupportedProtocolVersion")
        }
        try value.httpAdditionalHeaders.check(at: "/configuration/httpAdditionalHeaders")
        var checked = value
        if isBackground {
            checked.waitsForConnectivity = true
            checked.httpMaximumConnectionsPerHost =
                ConfigurationDraft.connectionsPerHostInBackground
        }
        if let httpMaximumConnectionsPerHost {
            checked.httpMaximumConnectionsPerHost = httpMaximumConnectionsPerHost
        }
        checked.connectionProxyDictionary = try proxies?.configuration(
            at: "/configuration/connectionProxyDictionary", parse: parse)
        return checked
    }
}

extension CacheCapacity {
    /// What `urlCache: null` says: nothing is kept.
    fileprivate static var none: CacheCapacity {
        var capacity = CacheCapacity()
        capacity.memoryCapacity = 0
        capacity.diskCapacity = 0
        return capacity
    }

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

    /// S-25: the session's own storage, or null for none.
    fileprivate mutating func hasPrivateStorage() throws(JSONError) -> Bool {
        guard let name = try optionalString() else { return false }
        guard name == privateStorage else { throw fail("must be \"\(privateStorage)\" or null") }
        return true
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
