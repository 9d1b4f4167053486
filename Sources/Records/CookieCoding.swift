package import Engine
package import Semantics

extension Cookie {
    private enum Field {
        static let name: UInt8 = 1
        static let value: UInt8 = 2
        static let domain: UInt8 = 3
        static let path: UInt8 = 4
        static let expires: UInt8 = 5
        static let isSecure: UInt8 = 6
        static let isHTTPOnly: UInt8 = 7
        static let sameSite: UInt8 = 8
        static let coversSubdomains: UInt8 = 9
        static let creationTime: UInt8 = 10
        // Milliseconds after creationTime, which is read first.
        static let lastAccessTime: UInt8 = 11
    }

    /// Writes all but `sequence`. The record must be sealed.
    package func write(to writer: inout RecordWriter) {
        writer.put(Field.name, name)
        writer.put(Field.value, value)
        writer.put(Field.domain, domain)
        if path != "/" { writer.put(Field.path, path) }
        writer.put(Field.expires, expires?.milliseconds)
        writer.put(Field.isSecure, isSecure)
        writer.put(Field.isHTTPOnly, isHTTPOnly)
        if sameSite != .default { writer.put(Field.sameSite, sameSite.rawValue) }
        writer.put(Field.coversSubdomains, !isHostOnly)
        writer.put(Field.creationTime, creationTime.milliseconds)
        let access = lastAccessTime.milliseconds &- creationTime.milliseconds
        if access != 0 { writer.put(Field.lastAccessTime, access) }
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader, sequence: Int64) throws(StoreError) {
        var reader = reader
        var (name, value, domain, path) = ("", "", "", "/")
        var expires: Timestamp?
        var (isSecure, isHTTPOnly, isHostOnly) = (false, false, true)
        var sameSite = SameSite.default
        var created: Int64 = 0
        var access: Int64 = 0
        while let field = try reader.next() {
            switch field {
            case Field.name: name = try reader.string()
            case Field.value: value = try reader.string()
            case Field.domain: domain = try reader.string()
            case Field.path: path = try reader.string()
            case Field.expires: expires = Timestamp(milliseconds: try reader.int64())
            case Field.isSecure: isSecure = try reader.bool()
            case Field.isHTTPOnly: isHTTPOnly = try reader.bool()
            case Field.sameSite: sameSite = try reader.raw()
            case Field.coversSubdomains: isHostOnly = try !reader.bool()
            case Field.creationTime: created = try reader.int64()
            case Field.lastAccessTime: access = try reader.int64()
            default: try reader.skip()
            }
        }
        self.init(
            name: name, value: value, domain: domain, path: path, expires: expires,
            isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite, isHostOnly: isHostOnly,
            creationTime: Timestamp(milliseconds: created),
            lastAccessTime: Timestamp(milliseconds: created &+ access), sequence: sequence)
    }
}
