package import Engine
package import Semantics

extension ServerTrust {
    private enum Field {
        static let certificate: UInt8 = 1
        static let failure: UInt8 = 2
    }

    /// Writes the chain and what is wrong with it.
    package func write(to writer: inout RecordWriter) {
        for certificate in chain {
            writer.put(Field.certificate, record: { certificate.write(to: &$0) })
        }
        for failure in failures {
            writer.put(Field.failure, record: { failure.write(to: &$0) })
        }
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader) throws(StoreError) {
        self.init(chain: [], failures: [])
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.certificate: chain.append(try CertificateRecord(try reader.record()))
            case Field.failure: failures.append(try VerificationFailure(try reader.record()))
            default: try reader.skip()
            }
        }
    }
}

extension CertificateRecord {
    private enum Field {
        static let pem: UInt8 = 1
        static let subject: UInt8 = 2
        static let issuer: UInt8 = 3
        static let serialNumber: UInt8 = 4
        static let notBefore: UInt8 = 5
        static let notAfter: UInt8 = 6
        static let alternativeName: UInt8 = 7
        static let fingerprint: UInt8 = 8
    }

    fileprivate func write(to writer: inout RecordWriter) {
        writer.put(Field.pem, pem)
        writer.put(Field.subject, subject)
        writer.put(Field.issuer, issuer)
        writer.put(Field.serialNumber, serialNumber)
        writer.put(Field.notBefore, notBefore.milliseconds)
        writer.put(Field.notAfter, notAfter.milliseconds)
        for name in alternativeNames { writer.put(Field.alternativeName, name) }
        writer.put(Field.fingerprint, fingerprint)
    }

    fileprivate init(_ reader: RecordReader) throws(StoreError) {
        self.init(
            pem: "", subject: "", issuer: "", serialNumber: "",
            notBefore: Timestamp(milliseconds: 0), notAfter: Timestamp(milliseconds: 0),
            alternativeNames: [], fingerprint: [])
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.pem: pem = try reader.string()
            case Field.subject: subject = try reader.string()
            case Field.issuer: issuer = try reader.string()
            case Field.serialNumber: serialNumber = try reader.string()
            case Field.notBefore: notBefore = Timestamp(milliseconds: try reader.int64())
            case Field.notAfter: notAfter = Timestamp(milliseconds: try reader.int64())
            case Field.alternativeName: alternativeNames.append(try reader.string())
            case Field.fingerprint: fingerprint = try reader.byteArray()
            default: try reader.skip()
            }
        }
    }
}

extension VerificationFailure {
    private enum Field {
        static let code: UInt8 = 1
        static let message: UInt8 = 2
        static let depth: UInt8 = 3
    }

    fileprivate func write(to writer: inout RecordWriter) {
        writer.put(Field.code, code)
        writer.put(Field.message, message)
        if depth != 0 { writer.put(Field.depth, depth) }
    }

    fileprivate init(_ reader: RecordReader) throws(StoreError) {
        self.init(code: 0, message: "", depth: 0)
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.code: code = try reader.int()
            case Field.message: message = try reader.string()
            case Field.depth: depth = try reader.int()
            default: try reader.skip()
            }
        }
    }
}
