package import Engine
package import Semantics

extension Challenge {
    private enum Field {
        static let space: UInt8 = 1
        static let previousFailureCount: UInt8 = 2
        static let proposedCredential: UInt8 = 3
        static let failureResponse: UInt8 = 4
        static let distinguishedName: UInt8 = 5
        static let serverTrust: UInt8 = 6
    }

    /// Writes the challenge. The proposed credential is secret, and so are the response's headers
    /// when they set cookies.
    package func write(to parts: inout RecordParts) {
        parts.clear.put(Field.space, record: { space.write(to: &$0) })
        if previousFailureCount != 0 {
            parts.clear.put(Field.previousFailureCount, previousFailureCount)
        }
        if let proposedCredential {
            parts.secret.put(
                Field.proposedCredential, record: { proposedCredential.write(to: &$0) })
        }
        if let failureResponse {
            parts.put(Field.failureResponse, record: { failureResponse.write(to: &$0, base: "") })
        }
        for name in distinguishedNames { parts.clear.put(Field.distinguishedName, name) }
        if let serverTrust {
            parts.clear.put(Field.serverTrust, record: { serverTrust.write(to: &$0) })
        }
    }

    /// Reads what `write` has written.
    package init(clear: RecordReader, secret: RecordReader?) throws(StoreError) {
        var space: ProtectionSpace?
        var previousFailureCount = 0
        var proposedCredential: ShownCredential?
        var response = RecordHalves()
        var distinguishedNames: [String] = []
        var serverTrust: ServerTrust?
        for part in [clear, secret] {
            guard var reader = part else { continue }
            while let field = try reader.next() {
                switch field {
                case Field.space: space = try ProtectionSpace(try reader.record())
                case Field.previousFailureCount: previousFailureCount = try reader.int()
                case Field.proposedCredential:
                    proposedCredential = try ShownCredential(try reader.record())
                case Field.failureResponse: response.take(try reader.record())
                case Field.distinguishedName: distinguishedNames.append(try reader.string())
                case Field.serverTrust: serverTrust = try ServerTrust(try reader.record())
                default: try reader.skip()
                }
            }
        }
        guard let space else { throw .damagedRecord }
        self.init(
            space, previousFailureCount: previousFailureCount,
            proposedCredential: proposedCredential,
            failureResponse: response.isPresent ? try ResponseRecord(response) : nil,
            distinguishedNames: distinguishedNames, serverTrust: serverTrust)
    }
}

extension ShownCredential {
    private enum Field {
        static let user: UInt8 = 1
        static let persistence: UInt8 = 2
    }

    fileprivate func write(to writer: inout RecordWriter) {
        writer.put(Field.user, user)
        if persistence != .none { writer.put(Field.persistence, persistence.rawValue) }
    }

    fileprivate init(_ reader: RecordReader) throws(StoreError) {
        self.init(user: nil, persistence: .none)
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.user: user = try reader.string()
            case Field.persistence: persistence = try reader.raw()
            default: try reader.skip()
            }
        }
    }
}
