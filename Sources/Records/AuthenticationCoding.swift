package import Engine
package import Semantics

extension TaskAuthentication {
    private enum Field {
        static let server: UInt8 = 1
        static let proxy: UInt8 = 2
        static let hasNoIdentity: UInt8 = 3
        static let certificate: UInt8 = 4
        static let identityOrigin: UInt8 = 5
    }

    /// Writes all of it. The record must be sealed.
    package func write(to writer: inout RecordWriter) {
        for (field, round) in [(Field.server, server), (Field.proxy, proxy)]
        where round != AuthenticationRound() {
            writer.put(field, record: { round.write(to: &$0) })
        }
        switch identity {
        case .undecided: break
        case .without: writer.put(Field.hasNoIdentity, true)
        case .certificate(let identity):
            writer.put(Field.certificate, record: { identity.write(to: &$0) })
        }
        if let identityOrigin {
            writer.put(Field.identityOrigin, record: { identityOrigin.write(to: &$0) })
        }
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader) throws(StoreError) {
        self.init()
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.server: server = try AuthenticationRound(try reader.record())
            case Field.proxy: proxy = try AuthenticationRound(try reader.record())
            case Field.hasNoIdentity:
                if try reader.bool() { identity = .without }
            case Field.certificate:
                identity = .certificate(try ClientIdentity(try reader.record()))
            case Field.identityOrigin: identityOrigin = try WebURL.Origin(try reader.record())
            default: try reader.skip()
            }
        }
    }
}

extension AuthenticationRound {
    private enum Field {
        static let origin: UInt8 = 1
        static let space: UInt8 = 2
        static let password: UInt8 = 3
        static let usesTickets: UInt8 = 4
        // 5 was a count of failures without their space.
        static let rejected: UInt8 = 6
        static let scope: UInt8 = 7
        static let digest: UInt8 = 8
        static let isUnasked: UInt8 = 9
        static let staleCount: UInt8 = 10
        static let failure: UInt8 = 11
    }

    fileprivate func write(to writer: inout RecordWriter) {
        if let origin { writer.put(Field.origin, record: { origin.write(to: &$0) }) }
        if let space { writer.put(Field.space, record: { space.write(to: &$0) }) }
        switch use {
        case nil: break
        case .password(let user, let password):
            writer.put(
                Field.password,
                record: { writer in
                    writer.text(user)
                    writer.text(password)
                })
        case .tickets: writer.put(Field.usesTickets, true)
        }
        for space in rejected { writer.put(Field.rejected, record: { space.write(to: &$0) }) }
        for prefix in scope.prefixes { writer.put(Field.scope, prefix) }
        if let digest { writer.put(Field.digest, record: { digest.write(to: &$0) }) }
        if isUnasked { writer.put(Field.isUnasked, true) }
        if staleCount != 0 { writer.put(Field.staleCount, staleCount) }
        for failure in failures { writer.put(Field.failure, record: { failure.write(to: &$0) }) }
    }

    fileprivate init(_ reader: RecordReader) throws(StoreError) {
        self.init()
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.origin: origin = try WebURL.Origin(try reader.record())
            case Field.space: space = try ProtectionSpace(try reader.record())
            case Field.password:
                var packed = try reader.record()
                use = .password(user: try packed.text(), password: try packed.text())
            case Field.usesTickets:
                if try reader.bool() { use = .tickets }
            case Field.rejected: rejected.append(try ProtectionSpace(try reader.record()))
            case Field.scope: scope.prefixes.append(try reader.string())
            case Field.digest: digest = try DigestChallenge(try reader.record())
            case Field.isUnasked: isUnasked = try reader.bool()
            case Field.staleCount: staleCount = try reader.int()
            case Field.failure: failures.append(try Failure(try reader.record()))
            default: try reader.skip()
            }
        }
    }
}

extension AuthenticationRound.Failure {
    private enum Field {
        static let space: UInt8 = 1
        static let count: UInt8 = 2
    }

    fileprivate func write(to writer: inout RecordWriter) {
        writer.put(Field.space, record: { space.write(to: &$0) })
        writer.put(Field.count, count)
    }

    fileprivate init(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        var space: ProtectionSpace?
        var count = 0
        while let field = try reader.next() {
            switch field {
            case Field.space: space = try ProtectionSpace(try reader.record())
            case Field.count: count = try reader.int()
            default: try reader.skip()
            }
        }
        guard let space else { throw .damagedRecord }
        self.init(space: space, count: count)
    }
}

extension DigestChallenge {
    private enum Field {
        static let realm: UInt8 = 1
        static let nonce: UInt8 = 2
        static let opaque: UInt8 = 3
        static let algorithm: UInt8 = 4
        static let algorithmName: UInt8 = 5
        static let countsRequests: UInt8 = 6
        static let hashesUser: UInt8 = 7
        static let isUTF8: UInt8 = 8
    }

    fileprivate func write(to writer: inout RecordWriter) {
        writer.put(Field.realm, realm)
        writer.put(Field.nonce, nonce)
        writer.put(Field.opaque, opaque)
        writer.put(Field.algorithm, algorithm.rawValue)
        writer.put(Field.algorithmName, algorithmName)
        if countsRequests { writer.put(Field.countsRequests, true) }
        if hashesUser { writer.put(Field.hashesUser, true) }
        if isUTF8 { writer.put(Field.isUTF8, true) }
    }

    fileprivate init(_ reader: RecordReader) throws(StoreError) {
        self.init(realm: "", nonce: "")
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.realm: realm = try reader.string()
            case Field.nonce: nonce = try reader.string()
            case Field.opaque: opaque = try reader.string()
            case Field.algorithm: algorithm = try Self.algorithm(try reader.string())
            case Field.algorithmName: algorithmName = try reader.string()
            case Field.countsRequests: countsRequests = try reader.bool()
            case Field.hashesUser: hashesUser = try reader.bool()
            case Field.isUTF8: isUTF8 = try reader.bool()
            default: try reader.skip()
            }
        }
    }

    private static func algorithm(_ name: String) throws(StoreError) -> DigestProof.Algorithm {
        guard let algorithm = DigestProof.Algorithm(rawValue: name) else {
            throw .damagedRecord
        }
        return algorithm
    }
}

extension WebURL.Origin {
    private enum Field {
        static let scheme: UInt8 = 1
        static let host: UInt8 = 2
        static let zone: UInt8 = 3
        static let port: UInt8 = 4
    }

    fileprivate func write(to writer: inout RecordWriter) {
        writer.put(Field.scheme, scheme)
        writer.put(Field.host, host)
        writer.put(Field.zone, zone)
        writer.put(Field.port, port)
    }

    fileprivate init(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        var scheme = ""
        var host = ""
        var zone: String?
        var port = 0
        while let field = try reader.next() {
            switch field {
            case Field.scheme: scheme = try reader.string()
            case Field.host: host = try reader.string()
            case Field.zone: zone = try reader.string()
            case Field.port: port = try reader.int()
            default: try reader.skip()
            }
        }
        self =
            WebURL(string: "", scheme: scheme, host: host, zone: zone, port: port, path: "").origin
    }
}
