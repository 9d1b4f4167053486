package import Engine
package import Semantics

extension TransferError {
    private enum Field {
        static let isFerry: UInt8 = 1
        static let code: UInt8 = 2
        static let message: UInt8 = 3
        static let failingURL: UInt8 = 4
        static let underlying: UInt8 = 5
        static let userInfo: UInt8 = 6
    }

    fileprivate enum UnderlyingField {
        static let layer: UInt8 = 1
        static let code: UInt8 = 2
        static let message: UInt8 = 3
    }

    private enum UserInfoField {
        static let key: UInt8 = 1
        static let string: UInt8 = 2
        static let integer: UInt8 = 3
    }

    /// Writes the error.
    package func write(to writer: inout RecordWriter) {
        if case .ferry = kind { writer.put(Field.isFerry, true) }
        writer.put(Field.code, code)
        if message != kind.sentence { writer.put(Field.message, message) }
        writer.put(Field.failingURL, failingURL)
        if let underlying {
            writer.put(
                Field.underlying,
                record: { writer in
                    writer.put(UnderlyingField.layer, underlying.layer.rawValue)
                    writer.put(UnderlyingField.code, underlying.code)
                    writer.put(UnderlyingField.message, underlying.message)
                })
        }
        for (key, value) in userInfo {
            writer.put(
                Field.userInfo,
                record: { writer in
                    writer.put(UserInfoField.key, key)
                    switch value {
                    case .string(let text): writer.put(UserInfoField.string, text)
                    case .integer(let number): writer.put(UserInfoField.integer, number)
                    }
                })
        }
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        var isFerry = false
        var code = 0
        var message: String?
        var failingURL: String?
        var underlying: Underlying?
        var userInfo: [String: UserInfoValue] = [:]
        while let field = try reader.next() {
            switch field {
            case Field.isFerry: isFerry = try reader.bool()
            case Field.code: code = try reader.int()
            case Field.message: message = try reader.string()
            case Field.failingURL: failingURL = try reader.string()
            case Field.underlying: underlying = try Underlying(try reader.record())
            case Field.userInfo:
                let (key, value) = try Self.userInfo(try reader.record())
                userInfo[key] = value
            default: try reader.skip()
            }
        }
        let kind: Kind? =
            isFerry
            ? FerryErrorCode(rawValue: code).map(Kind.ferry)
            : URLErrorCode(rawValue: code).map(Kind.url)
        guard let kind else { throw .damagedRecord }
        self.init(
            kind, at: failingURL, message: message, underlying: underlying, userInfo: userInfo)
    }

    private static func userInfo(
        _ reader: RecordReader
    ) throws(StoreError) -> (key: String, value: UserInfoValue) {
        var reader = reader
        var key = ""
        var value: UserInfoValue?
        while let field = try reader.next() {
            switch field {
            case UserInfoField.key: key = try reader.string()
            case UserInfoField.string: value = .string(try reader.string())
            case UserInfoField.integer: value = .integer(try reader.int())
            default: try reader.skip()
            }
        }
        guard let value else { throw .damagedRecord }
        return (key, value)
    }
}

extension TransferError.Underlying {
    /// Reads what `TransferError.write` has written.
    fileprivate init(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        var layer: Layer?
        var code = 0
        var message = ""
        while let field = try reader.next() {
            switch field {
            case TransferError.UnderlyingField.layer: layer = try reader.raw()
            case TransferError.UnderlyingField.code: code = try reader.int()
            case TransferError.UnderlyingField.message: message = try reader.string()
            default: try reader.skip()
            }
        }
        guard let layer else { throw .damagedRecord }
        self.init(layer: layer, code: code, message: message)
    }
}
