package import Engine
package import Semantics

extension KnownLeaf {
    private enum Field {
        static let host: UInt8 = 1
        static let port: UInt8 = 2
        static let fingerprint: UInt8 = 3
        static let mustVerify: UInt8 = 4
    }

    /// Leaves behind one another, each behind its length; nil for none.
    package static func bytes(of leaves: [KnownLeaf]) -> [UInt8]? {
        guard !leaves.isEmpty else { return nil }
        var writer = RecordWriter()
        for leaf in leaves {
            var record = RecordWriter()
            record.put(Field.host, leaf.host)
            if leaf.port != 443 { record.put(Field.port, leaf.port) }
            record.put(Field.fingerprint, leaf.fingerprint)
            record.put(Field.mustVerify, leaf.mustVerify)
            writer.chunk(record.bytes)
        }
        return writer.bytes
    }

    /// Reads what `bytes(of:)` has written.
    package static func leaves(in bytes: [UInt8]) throws(StoreError) -> [KnownLeaf] {
        var reader = RecordReader(bytes)
        var leaves: [KnownLeaf] = []
        while !reader.isAtEnd { leaves.append(try KnownLeaf(RecordReader(try reader.chunk()))) }
        return leaves
    }

    private init(_ reader: RecordReader) throws(StoreError) {
        self.init(host: "", port: 443, fingerprint: [], mustVerify: false)
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.host: host = try reader.string()
            case Field.port: port = try reader.int()
            case Field.fingerprint: fingerprint = try reader.byteArray()
            case Field.mustVerify: mustVerify = try reader.bool()
            default: try reader.skip()
            }
        }
    }
}
