package import Engine
package import Semantics

extension ClientIdentity {
    private enum Field {
        static let certificate: UInt8 = 1
        static let key: UInt8 = 2
        static let pkcs12: UInt8 = 3
        static let passphrase: UInt8 = 4
    }

    /// Writes the identity. The record must be sealed.
    package func write(to writer: inout RecordWriter) {
        switch self {
        case .pem(let certificate, let key):
            writer.put(Field.certificate, certificate)
            writer.put(Field.key, key)
        case .pkcs12(let bytes, let passphrase):
            writer.put(Field.pkcs12, bytes)
            writer.put(Field.passphrase, passphrase)
        }
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        var certificate: String?
        var key = ""
        var pkcs12: [UInt8]?
        var passphrase = ""
        while let field = try reader.next() {
            switch field {
            case Field.certificate: certificate = try reader.string()
            case Field.key: key = try reader.string()
            case Field.pkcs12: pkcs12 = try reader.byteArray()
            case Field.passphrase: passphrase = try reader.string()
            default: try reader.skip()
            }
        }
        if let certificate {
            self = .pem(certificate: certificate, key: key)
        } else if let pkcs12 {
            self = .pkcs12(bytes: pkcs12, passphrase: passphrase)
        } else {
            throw .damagedRecord
        }
    }
}
