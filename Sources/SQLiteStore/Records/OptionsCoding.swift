internal import Engine
internal import Semantics

extension TaskOptions {
    private enum Field {
        static let description: UInt8 = 1
        static let priority: UInt8 = 2
        static let delivery: UInt8 = 3
        static let fileName: UInt8 = 4
        static let expectedDigest: UInt8 = 5
        static let computeDigest: UInt8 = 6
        static let earliestBeginDate: UInt8 = 7
        static let bytesToSend: UInt8 = 8
        static let bytesToReceive: UInt8 = 9
    }

    /// Writes the options.
    func write(to writer: inout RecordWriter) {
        writer.put(Field.description, description)
        writer.put(Field.priority, priority)
        writer.put(Field.delivery, delivery.rawValue)
        writer.put(Field.fileName, fileName)
        writer.put(Field.expectedDigest, expectedDigest?.description)
        writer.put(Field.computeDigest, computeDigest)
        writer.put(Field.earliestBeginDate, earliestBeginDate?.milliseconds)
        writer.put(Field.bytesToSend, countOfBytesClientExpectsToSend)
        writer.put(Field.bytesToReceive, countOfBytesClientExpectsToReceive)
    }

    /// Reads what `write` has written.
    init(_ reader: RecordReader) throws(StoreError) {
        self.init()
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.description: description = try reader.string()
            case Field.priority: priority = try reader.double()
            case Field.delivery: delivery = try reader.raw()
            case Field.fileName: fileName = try reader.string()
            case Field.expectedDigest: expectedDigest = try Self.digest(try reader.string())
            case Field.computeDigest: computeDigest = try reader.bool()
            case Field.earliestBeginDate:
                earliestBeginDate = Timestamp(milliseconds: try reader.int64())
            case Field.bytesToSend: countOfBytesClientExpectsToSend = try reader.int64()
            case Field.bytesToReceive: countOfBytesClientExpectsToReceive = try reader.int64()
            default: try reader.skip()
            }
        }
    }

    private static func digest(_ text: String) throws(StoreError) -> ContentDigest {
        do {
            return try ContentDigest(parsing: text)
        } catch {
            throw .damagedRecord
        }
    }
}

extension ContentRecord {
    private enum Field {
        static let length: UInt8 = 1
        static let place: UInt8 = 2
        static let digest: UInt8 = 3
        static let lengthVerified: UInt8 = 4
    }

    /// Writes the content's description.
    func write(to writer: inout RecordWriter) {
        writer.put(Field.length, length)
        if place != .file { writer.put(Field.place, place.rawValue) }
        writer.put(Field.digest, digest)
        writer.put(Field.lengthVerified, lengthVerified)
    }

    /// Reads what `write` has written.
    init(_ reader: RecordReader) throws(StoreError) {
        self.init(length: 0, place: .file, digest: nil, lengthVerified: false)
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.length: length = try reader.int64()
            case Field.place: place = try reader.raw()
            case Field.digest: digest = try reader.string()
            case Field.lengthVerified: lengthVerified = try reader.bool()
            default: try reader.skip()
            }
        }
    }
}
