package import Engine
package import Semantics

extension StoredCredential {
    private enum Field {
        static let space: UInt8 = 1
        static let credential: UInt8 = 2
        static let isDefault: UInt8 = 3
    }

    /// Writes all of it. The record must be sealed.
    package func write(to writer: inout RecordWriter) {
        writer.put(Field.space, record: { space.write(to: &$0) })
        writer.put(Field.credential, record: { credential.write(to: &$0) })
        writer.put(Field.isDefault, isDefault)
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        var space: ProtectionSpace?
        var credential: Credential?
        var isDefault = false
        while let field = try reader.next() {
            switch field {
            case Field.space: space = try ProtectionSpace(try reader.record())
            case Field.credential: credential = try Credential(try reader.record())
            case Field.isDefault: isDefault = try reader.bool()
            default: try reader.skip()
            }
        }
        guard let space, let credential else { throw .damagedRecord }
        self.init(space: space, credential: credential, isDefault: isDefault)
    }
}

extension Credential {
    private enum Field {
        static let password: UInt8 = 1
        static let identity: UInt8 = 2
        static let trustedLeaf: UInt8 = 3
        static let persistence: UInt8 = 4
    }

    /// Writes all of it. The record must be sealed.
    package func write(to writer: inout RecordWriter) {
        switch proof {
        case .password(let user, let password):
            writer.put(
                Field.password,
                record: { writer in
                    writer.text(user)
                    writer.text(password)
                })
        case .identity(let identity):
            writer.put(Field.identity, record: { identity.write(to: &$0) })
        case .serverTrust(let leaf): writer.put(Field.trustedLeaf, leaf)
        }
        if persistence != .permanent { writer.put(Field.persistence, persistence.rawValue) }
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        var proof: Proof?
        var persistence = CredentialPersistence.permanent
        while let field = try reader.next() {
            switch field {
            case Field.password:
                var packed = try reader.record()
                proof = .password(user: try packed.text(), password: try packed.text())
            case Field.identity: proof = .identity(try ClientIdentity(try reader.record()))
            case Field.trustedLeaf: proof = .serverTrust(leaf: try reader.byteArray())
            case Field.persistence: persistence = try reader.raw()
            default: try reader.skip()
            }
        }
        guard let proof else { throw .damagedRecord }
        self.init(proof, persistence: persistence)
    }
}
