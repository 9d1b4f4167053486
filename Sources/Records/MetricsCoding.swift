package import Engine
package import Semantics

extension TaskMetrics {
    private enum Field {
        static let redirectCount: UInt8 = 1
        static let transaction: UInt8 = 2
    }

    /// Writes the metrics.
    ///
    /// `base` is the task's URL, which need not be written again.
    package func write(to writer: inout RecordWriter, base: String) {
        if redirectCount != 0 { writer.put(Field.redirectCount, redirectCount) }
        for transaction in transactions {
            writer.put(Field.transaction, record: { transaction.write(to: &$0, base: base) })
        }
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader, base: String) throws(StoreError) {
        self.init()
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.redirectCount: redirectCount = try reader.int()
            case Field.transaction:
                transactions.append(try TransactionMetrics(try reader.record(), base: base))
            default: try reader.skip()
            }
        }
    }
}

extension TransactionMetrics {
    private enum Field {
        static let url: UInt8 = 1
        static let method: UInt8 = 2
        static let status: UInt8 = 3
        static let fetchStart: UInt8 = 4
        static let networkProtocolName: UInt8 = 5
        static let isReusedConnection: UInt8 = 6
        static let isProxyConnection: UInt8 = 7
        static let localAddress: UInt8 = 8
        static let localPort: UInt8 = 9
        static let remoteAddress: UInt8 = 10
        static let remotePort: UInt8 = 11
        static let requestHeaderBytes: UInt8 = 12
        static let requestBodyBytes: UInt8 = 13
        static let responseHeaderBytes: UInt8 = 14
        static let responseBodyBytes: UInt8 = 15
        // Instants are written as microseconds after fetchStart, which is read first.
        static let domainLookupStart: UInt8 = 16
        static let domainLookupEnd: UInt8 = 17
        static let connectStart: UInt8 = 18
        static let connectEnd: UInt8 = 19
        static let secureConnectionStart: UInt8 = 20
        static let secureConnectionEnd: UInt8 = 21
        static let requestStart: UInt8 = 22
        static let requestEnd: UInt8 = 23
        static let responseStart: UInt8 = 24
        static let responseEnd: UInt8 = 25
        static let resourceFetchType: UInt8 = 26
    }

    fileprivate func write(to writer: inout RecordWriter, base: String) {
        if url != base { writer.put(Field.url, url) }
        if method != "GET" { writer.put(Field.method, method) }
        writer.put(Field.status, status)
        writer.put(Field.fetchStart, fetchStart)
        writer.put(Field.networkProtocolName, networkProtocolName)
        writer.put(Field.isReusedConnection, isReusedConnection)
        writer.put(Field.isProxyConnection, isProxyConnection)
        writer.put(Field.localAddress, localAddress)
        writer.put(Field.localPort, localPort)
        writer.put(Field.remoteAddress, remoteAddress)
        writer.put(Field.remotePort, remotePort)
        writer.put(Field.requestHeaderBytes, countOfRequestHeaderBytesSent)
        writer.put(Field.requestBodyBytes, countOfRequestBodyBytesSent)
        writer.put(Field.responseHeaderBytes, countOfResponseHeaderBytesReceived)
        writer.put(Field.responseBodyBytes, countOfResponseBodyBytesReceived)
        writer.put(Field.domainLookupStart, domainLookupStart.map { $0 &- fetchStart })
        writer.put(Field.domainLookupEnd, domainLookupEnd.map { $0 &- fetchStart })
        writer.put(Field.connectStart, connectStart.map { $0 &- fetchStart })
        writer.put(Field.connectEnd, connectEnd.map { $0 &- fetchStart })
        writer.put(Field.secureConnectionStart, secureConnectionStart.map { $0 &- fetchStart })
        writer.put(Field.secureConnectionEnd, secureConnectionEnd.map { $0 &- fetchStart })
        writer.put(Field.requestStart, requestStart.map { $0 &- fetchStart })
        writer.put(Field.requestEnd, requestEnd.map { $0 &- fetchStart })
        writer.put(Field.responseStart, responseStart.map { $0 &- fetchStart })
        writer.put(Field.responseEnd, responseEnd.map { $0 &- fetchStart })
        if resourceFetchType != .networkLoad {
            writer.put(Field.resourceFetchType, resourceFetchType.rawValue)
        }
    }

    fileprivate init(_ reader: RecordReader, base: String) throws(StoreError) {
        self.init()
        url = base
        method = "GET"
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.url: url = try reader.string()
            case Field.method: method = try reader.string()
            case Field.status: status = try reader.int()
            case Field.fetchStart: fetchStart = try reader.int64()
            case Field.networkProtocolName: networkProtocolName = try reader.string()
            case Field.isReusedConnection: isReusedConnection = try reader.bool()
            case Field.isProxyConnection: isProxyConnection = try reader.bool()
            case Field.localAddress: localAddress = try reader.string()
            case Field.localPort: localPort = try reader.int()
            case Field.remoteAddress: remoteAddress = try reader.string()
            case Field.remotePort: remotePort = try reader.int()
            case Field.requestHeaderBytes: countOfRequestHeaderBytesSent = try reader.int64()
            case Field.requestBodyBytes: countOfRequestBodyBytesSent = try reader.int64()
            case Field.responseHeaderBytes: countOfResponseHeaderBytesReceived = try reader.int64()
            case Field.responseBodyBytes: countOfResponseBodyBytesReceived = try reader.int64()
            case Field.domainLookupStart: domainLookupStart = fetchStart &+ (try reader.int64())
            case Field.domainLookupEnd: domainLookupEnd = fetchStart &+ (try reader.int64())
            case Field.connectStart: connectStart = fetchStart &+ (try reader.int64())
            case Field.connectEnd: connectEnd = fetchStart &+ (try reader.int64())
            case Field.secureConnectionStart:
                secureConnectionStart = fetchStart &+ (try reader.int64())
            case Field.secureConnectionEnd: secureConnectionEnd = fetchStart &+ (try reader.int64())
            case Field.requestStart: requestStart = fetchStart &+ (try reader.int64())
            case Field.requestEnd: requestEnd = fetchStart &+ (try reader.int64())
            case Field.responseStart: responseStart = fetchStart &+ (try reader.int64())
            case Field.responseEnd: responseEnd = fetchStart &+ (try reader.int64())
            case Field.resourceFetchType: resourceFetchType = try reader.raw()
            default: try reader.skip()
            }
        }
    }
}
