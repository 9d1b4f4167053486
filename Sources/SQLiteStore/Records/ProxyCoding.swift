internal import Engine
internal import Semantics

extension ProxyConfiguration {
    private enum Field {
        static let http: UInt8 = 1
        static let https: UInt8 = 2
    }

    /// Writes the proxies.
    func write(to writer: inout RecordWriter) {
        if let http { writer.put(Field.http, record: { http.write(to: &$0) }) }
        if let https { writer.put(Field.https, record: { https.write(to: &$0) }) }
    }

    /// Reads what `write` has written.
    init(_ reader: RecordReader) throws(StoreError) {
        self.init()
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.http: http = try ProxyAddress(try reader.record())
            case Field.https: https = try ProxyAddress(try reader.record())
            default: try reader.skip()
            }
        }
    }
}

extension ProxyAddress {
    private enum Field {
        static let host: UInt8 = 1
        static let port: UInt8 = 2
    }

    fileprivate func write(to writer: inout RecordWriter) {
        writer.put(Field.host, host)
        writer.put(Field.port, port)
    }

    fileprivate init(_ reader: RecordReader) throws(StoreError) {
        self.init(host: "", port: 0)
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.host: host = try reader.string()
            case Field.port: port = try reader.int()
            default: try reader.skip()
            }
        }
    }
}
