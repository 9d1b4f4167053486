package import Engine
package import Semantics

extension ProxyConfiguration {
    private enum Field {
        static let http: UInt8 = 1
        static let https: UInt8 = 2
        static let socks: UInt8 = 3
        static let exception: UInt8 = 4
    }

    /// Writes the proxies.
    package func write(to writer: inout RecordWriter) {
        if let http { writer.put(Field.http, record: { http.write(to: &$0) }) }
        if let https { writer.put(Field.https, record: { https.write(to: &$0) }) }
        if let socks { writer.put(Field.socks, record: { socks.write(to: &$0) }) }
        for exception in exceptions { writer.put(Field.exception, exception.pattern) }
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader) throws(StoreError) {
        self.init()
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.http: http = try ProxyAddress(try reader.record())
            case Field.https: https = try ProxyAddress(try reader.record())
            case Field.socks: socks = try ProxyAddress(try reader.record())
            case Field.exception:
                guard let exception = ProxyException(try reader.string()) else {
                    throw .damagedRecord
                }
                exceptions.append(exception)
            default: try reader.skip()
            }
        }
    }
}

extension ProxyAddress {
    private enum Field {
        static let host: UInt8 = 1
        static let port: UInt8 = 2
        static let kind: UInt8 = 3
    }

    fileprivate func write(to writer: inout RecordWriter) {
        writer.put(Field.host, host)
        writer.put(Field.port, port)
        if kind != .http { writer.put(Field.kind, kind.rawValue) }
    }

    fileprivate init(_ reader: RecordReader) throws(StoreError) {
        self.init(host: "", port: 0)
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.host: host = try reader.string()
            case Field.port: port = try reader.int()
            case Field.kind: kind = try reader.raw()
            default: try reader.skip()
            }
        }
    }
}
