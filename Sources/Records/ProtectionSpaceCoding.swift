package import Engine
package import Semantics

extension ProtectionSpace {
    private enum Field {
        static let host: UInt8 = 1
        static let port: UInt8 = 2
        static let scheme: UInt8 = 3
        static let realm: UInt8 = 4
        static let method: UInt8 = 5
        static let otherMethod: UInt8 = 6
        static let isProxy: UInt8 = 7
    }

    /// Writes the space.
    ///
    /// Methods are numbers, not names: a server may call a scheme of its own as one of them.
    package func write(to writer: inout RecordWriter) {
        writer.put(Field.host, host)
        writer.put(Field.port, port)
        writer.put(Field.scheme, scheme)
        writer.put(Field.realm, realm)
        switch method {
        case .basic: writer.put(Field.method, 1)
        case .digest: writer.put(Field.method, 2)
        case .ntlm: writer.put(Field.method, 3)
        case .negotiate: writer.put(Field.method, 4)
        case .clientCertificate: writer.put(Field.method, 5)
        case .serverTrust: writer.put(Field.method, 6)
        case .other(let name): writer.put(Field.otherMethod, name)
        }
        writer.put(Field.isProxy, isProxy)
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader) throws(StoreError) {
        self.init(host: "", port: 0, scheme: "", method: .other(""))
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.host: host = try reader.string()
            case Field.port: port = try reader.int()
            case Field.scheme: scheme = try reader.string()
            case Field.realm: realm = try reader.string()
            case Field.method: method = try AuthenticationMethod(stored: try reader.int64())
            case Field.otherMethod: method = .other(try reader.string())
            case Field.isProxy: isProxy = try reader.bool()
            default: try reader.skip()
            }
        }
    }
}

extension AuthenticationMethod {
    /// The method with this number.
    fileprivate init(stored: Int64) throws(StoreError) {
        switch stored {
        case 1: self = .basic
        case 2: self = .digest
        case 3: self = .ntlm
        case 4: self = .negotiate
        case 5: self = .clientCertificate
        case 6: self = .serverTrust
        default: throw .damagedRecord
        }
    }
}
