package import Engine
package import Semantics

/// What of a session never changes: configuration, delegate and identifier (S-5).
package struct SessionConstants {
    package var configuration = SessionConfiguration()
    package var delegate: DelegateOptions?
    package var identifier: String?

    private enum Field {
        static let configuration: UInt8 = 1
        static let delegate: UInt8 = 2
        static let identifier: UInt8 = 3
    }

    /// Writes them.
    package static func write(_ session: SessionRecord, to parts: inout RecordParts) {
        parts.put(Field.configuration, record: { session.configuration.write(to: &$0) })
        if let delegate = session.delegate {
            parts.clear.put(Field.delegate, record: { delegate.write(to: &$0) })
        }
        if let identifier = session.identifier { parts.clear.put(Field.identifier, identifier) }
    }

    /// Reads what `write` has written.
    package init(clear: [UInt8], secret: [UInt8]?) throws(StoreError) {
        for part in [clear, secret] {
            guard let part else { continue }
            var reader = RecordReader(part)
            while let field = try reader.next() {
                switch field {
                case Field.configuration: try configuration.read(try reader.record())
                case Field.delegate: delegate = try DelegateOptions(try reader.record())
                case Field.identifier: identifier = try reader.string()
                default: try reader.skip()
                }
            }
        }
    }
}

extension SessionConfiguration {
    private enum Field {
        static let timeoutIntervalForRequest: UInt8 = 1
        static let timeoutIntervalForResource: UInt8 = 2
        static let httpMaximumConnectionsPerHost: UInt8 = 3
        static let httpAdditionalHeader: UInt8 = 4
        static let tlsMinimum: UInt8 = 5
        static let tlsMaximum: UInt8 = 6
        static let requestCachePolicy: UInt8 = 7
        static let memoryCapacity: UInt8 = 8
        static let diskCapacity: UInt8 = 9
        static let httpCookieAcceptPolicy: UInt8 = 10
        static let httpShouldSetCookies: UInt8 = 11
        static let waitsForConnectivity: UInt8 = 12
        static let isDiscretionary: UInt8 = 13
        static let httpShouldUsePipelining: UInt8 = 14
        static let allowsCellularAccess: UInt8 = 15
        static let allowsExpensiveNetworkAccess: UInt8 = 16
        static let allowsConstrainedNetworkAccess: UInt8 = 17
        static let multipathServiceType: UInt8 = 18
        static let networkServiceType: UInt8 = 19
        static let connectionProxyDictionary: UInt8 = 20
        static let hasNoCookieStorage: UInt8 = 21
        static let hasNoCredentialStorage: UInt8 = 22
        static let propagatesTraceContext: UInt8 = 23
    }

    /// Writes every property, or of a switch that only later versions have its other position, so
    /// that a default may change in a later version and a session does not (S-5). The additional
    /// headers are secret when one of them is sensitive.
    fileprivate func write(to parts: inout RecordParts) {
        let sensitive = SensitiveNames()
        if httpAdditionalHeaders.fields.contains(where: { sensitive.contains($0.name) }) {
            parts.secret.put(Field.httpAdditionalHeader, httpAdditionalHeaders)
        } else {
            parts.clear.put(Field.httpAdditionalHeader, httpAdditionalHeaders)
        }
        parts.clear.put(Field.timeoutIntervalForRequest, timeoutIntervalForRequest)
        parts.clear.put(Field.timeoutIntervalForResource, timeoutIntervalForResource)
        parts.clear.put(Field.httpMaximumConnectionsPerHost, httpMaximumConnectionsPerHost)
        parts.clear.put(Field.tlsMinimum, tlsMinimumSupportedProtocolVersion.rawValue)
        parts.clear.put(Field.tlsMaximum, tlsMaximumSupportedProtocolVersion.rawValue)
        parts.clear.put(Field.requestCachePolicy, requestCachePolicy.rawValue)
        parts.clear.put(Field.memoryCapacity, urlCache.memoryCapacity)
        parts.clear.put(Field.diskCapacity, urlCache.diskCapacity)
        parts.clear.put(Field.httpCookieAcceptPolicy, httpCookieAcceptPolicy.rawValue)
        parts.clear.put(Field.multipathServiceType, multipathServiceType)
        parts.clear.put(Field.networkServiceType, networkServiceType)
        if let connectionProxyDictionary {
            parts.clear.put(
                Field.connectionProxyDictionary,
                record: { connectionProxyDictionary.write(to: &$0) })
        }
        for (field, value) in [
            (Field.httpShouldSetCookies, httpShouldSetCookies),
            (Field.waitsForConnectivity, waitsForConnectivity),
            (Field.isDiscretionary, isDiscretionary),
            (Field.httpShouldUsePipelining, httpShouldUsePipelining),
            (Field.allowsCellularAccess, allowsCellularAccess),
            (Field.allowsExpensiveNetworkAccess, allowsExpensiveNetworkAccess),
            (Field.allowsConstrainedNetworkAccess, allowsConstrainedNetworkAccess),
        ] {
            parts.clear.put(field, value ? 1 : 0)
        }
        parts.clear.put(Field.hasNoCookieStorage, !hasCookieStorage)
        parts.clear.put(Field.hasNoCredentialStorage, !hasCredentialStorage)
        parts.clear.put(Field.propagatesTraceContext, propagatesTraceContext)
    }

    /// Reads one part of what `write` has written.
    fileprivate mutating func read(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.timeoutIntervalForRequest: timeoutIntervalForRequest = try reader.double()
            case Field.timeoutIntervalForResource: timeoutIntervalForResource = try reader.double()
            case Field.httpMaximumConnectionsPerHost:
                httpMaximumConnectionsPerHost = try reader.int()
            case Field.httpAdditionalHeader: try reader.header(into: &httpAdditionalHeaders)
            case Field.tlsMinimum: tlsMinimumSupportedProtocolVersion = try reader.raw()
            case Field.tlsMaximum: tlsMaximumSupportedProtocolVersion = try reader.raw()
            case Field.requestCachePolicy: requestCachePolicy = try reader.raw()
            case Field.memoryCapacity: urlCache.memoryCapacity = try reader.int64()
            case Field.diskCapacity: urlCache.diskCapacity = try reader.int64()
            case Field.httpCookieAcceptPolicy: httpCookieAcceptPolicy = try reader.raw()
            case Field.httpShouldSetCookies: httpShouldSetCookies = try reader.bool()
            case Field.waitsForConnectivity: waitsForConnectivity = try reader.bool()
            case Field.isDiscretionary: isDiscretionary = try reader.bool()
            case Field.httpShouldUsePipelining: httpShouldUsePipelining = try reader.bool()
            case Field.allowsCellularAccess: allowsCellularAccess = try reader.bool()
            case Field.allowsExpensiveNetworkAccess:
                allowsExpensiveNetworkAccess = try reader.bool()
            case Field.allowsConstrainedNetworkAccess:
                allowsConstrainedNetworkAccess = try reader.bool()
            case Field.multipathServiceType: multipathServiceType = try reader.string()
            case Field.networkServiceType: networkServiceType = try reader.string()
            case Field.connectionProxyDictionary:
                connectionProxyDictionary = try ProxyConfiguration(try reader.record())
            case Field.hasNoCookieStorage: hasCookieStorage = try !reader.bool()
            case Field.hasNoCredentialStorage: hasCredentialStorage = try !reader.bool()
            case Field.propagatesTraceContext: propagatesTraceContext = try reader.bool()
            default: try reader.skip()
            }
        }
    }
}

extension DelegateOptions {
    private enum Field {
        static let decisionTimeout: UInt8 = 1
        static let data: UInt8 = 2
        static let handles: UInt8 = 3
    }

    fileprivate func write(to writer: inout RecordWriter) {
        writer.put(Field.decisionTimeout, decisionTimeout)
        writer.put(Field.data, data.rawValue)
        for kind in DecisionKind.allCases where handles.contains(kind) {
            writer.put(Field.handles, kind.rawValue)
        }
    }

    fileprivate init(_ reader: RecordReader) throws(StoreError) {
        self.init()
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.decisionTimeout: decisionTimeout = try reader.double()
            case Field.data: data = try reader.raw()
            case Field.handles: handles.insert(try reader.raw())
            default: try reader.skip()
            }
        }
    }
}
