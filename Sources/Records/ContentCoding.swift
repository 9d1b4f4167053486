package import Engine
package import Semantics

extension ContentRecord {
    private enum Field {
        static let length: UInt8 = 1
        static let place: UInt8 = 2
        static let digest: UInt8 = 3
        static let lengthVerified: UInt8 = 4
        static let isPart: UInt8 = 5
        static let series: UInt8 = 6
    }

    /// Writes the content's description.
    package func write(to writer: inout RecordWriter) {
        writer.put(Field.length, length)
        if place != .file { writer.put(Field.place, place.rawValue) }
        writer.put(Field.digest, digest)
        writer.put(Field.lengthVerified, lengthVerified)
        if isPart { writer.put(Field.isPart, isPart) }
        writer.put(Field.series, series)
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader) throws(StoreError) {
        self.init(length: 0, place: .file, digest: nil, lengthVerified: false)
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.length: length = try reader.int64()
            case Field.place: place = try reader.raw()
            case Field.digest: digest = try reader.string()
            case Field.lengthVerified: lengthVerified = try reader.bool()
            case Field.isPart: isPart = try reader.bool()
            case Field.series: series = try reader.int64()
            default: try reader.skip()
            }
        }
    }
}
