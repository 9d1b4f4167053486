package import Engine

/// What clients keep with tasks and sessions: texts by name, as a record of its own.
private enum Field {
    static let key: UInt8 = 1
    static let value: UInt8 = 2
}

extension RecordWriter {
    /// Puts names and texts, each name before its text, in the order of the names: equal metadata
    /// are equal bytes.
    package mutating func put(metadata: [String: String]) {
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            put(Field.key, key)
            put(Field.value, value)
        }
    }

    /// The bytes of metadata as a column has them; nil for none.
    package static func column(of metadata: [String: String]) -> [UInt8]? {
        guard !metadata.isEmpty else { return nil }
        var writer = RecordWriter()
        writer.put(metadata: metadata)
        return writer.bytes
    }
}

extension RecordReader {
    /// Reads what `put(metadata:)` has written.
    package mutating func metadata() throws(StoreError) -> [String: String] {
        var metadata: [String: String] = [:]
        var key: String?
        while let field = try next() {
            switch field {
            case Field.key: key = try string()
            case Field.value:
                guard let named = key.take() else { throw .damagedRecord }
                metadata[named] = try string()
            default: try skip()
            }
        }
        return metadata
    }
}
