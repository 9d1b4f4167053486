package import JSON
package import Semantics

extension SessionConfiguration {
    /// Every property, so that what is answered can be posted again (S-5).
    package func writeMembers(to json: inout JSONWriter) {
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
        json.member("httpCookieStorage", hasCookieStorage ? privateStorage : nil)
        json.member("urlCredentialStorage", hasCredentialStorage ? privateStorage : nil)
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
        json.member("propagatesTraceContext", propagatesTraceContext)
        json.member("httpShouldUsePipelining", httpShouldUsePipelining)
        json.member("allowsCellularAccess", allowsCellularAccess)
        json.member("allowsExpensiveNetworkAccess", allowsExpensiveNetworkAccess)
        json.member("allowsConstrainedNetworkAccess", allowsConstrainedNetworkAccess)
        json.member("multipathServiceType", multipathServiceType)
        json.member("networkServiceType", networkServiceType)
    }
}

/// S-25: names a storage that no other session has.
package let privateStorage = "private"
