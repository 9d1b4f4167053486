package import Engine
package import Semantics

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
        static let maximumBytesPerSecond: UInt8 = 10
        static let connections: UInt8 = 11
        static let mirror: UInt8 = 12
        static let retry: UInt8 = 13
        static let hasCompletionHandler: UInt8 = 14
        static let metadata: UInt8 = 18
        static let folder: UInt8 = 15
        static let path: UInt8 = 16
        static let ifExists: UInt8 = 17
    }

    /// Writes the options.
    package func write(to writer: inout RecordWriter) {
        writer.put(Field.description, description)
        writer.put(Field.priority, priority)
        writer.put(Field.delivery, delivery.rawValue)
        writer.put(Field.fileName, fileName)
        writer.put(Field.expectedDigest, expectedDigest?.description)
        writer.put(Field.computeDigest, computeDigest)
        writer.put(Field.earliestBeginDate, earliestBeginDate?.milliseconds)
        writer.put(Field.bytesToSend, countOfBytesClientExpectsToSend)
        writer.put(Field.bytesToReceive, countOfBytesClientExpectsToReceive)
        writer.put(Field.maximumBytesPerSecond, maximumBytesPerSecond)
        if connections != 1 { writer.put(Field.connections, connections) }
        for mirror in mirrors {
            writer.put(Field.mirror, record: { mirror.write(to: &$0) })
        }
        if let retry { writer.put(Field.retry, record: { retry.write(to: &$0) }) }
        writer.put(Field.hasCompletionHandler, hasCompletionHandler)
        if !metadata.isEmpty {
            writer.put(Field.metadata, record: { $0.put(metadata: metadata) })
        }
        guard let destination else { return }
        writer.put(Field.folder, destination.folder)
        writer.put(Field.path, destination.path)
        writer.put(Field.ifExists, destination.ifExists.rawValue)
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader) throws(StoreError) {
        self.init()
        var reader = reader
        var destination = SaveDestination(folder: "", path: "")
        while let field = try reader.next() {
            switch field {
            case Field.description: description = try reader.string()
            case Field.priority: priority = try reader.double()
            case Field.delivery: delivery = try reader.raw()
            case Field.fileName: fileName = try reader.string()
            case Field.expectedDigest:
                expectedDigest = try ContentDigest(stored: try reader.string())
            case Field.computeDigest: computeDigest = try reader.bool()
            case Field.earliestBeginDate:
                earliestBeginDate = Timestamp(milliseconds: try reader.int64())
            case Field.bytesToSend: countOfBytesClientExpectsToSend = try reader.int64()
            case Field.bytesToReceive: countOfBytesClientExpectsToReceive = try reader.int64()
            case Field.maximumBytesPerSecond: maximumBytesPerSecond = try reader.int64()
            case Field.connections: connections = try reader.int()
            case Field.mirror: mirrors.append(try WebURL(try reader.record()))
            case Field.retry: retry = try RetryPolicy(try reader.record())
            case Field.hasCompletionHandler: hasCompletionHandler = try reader.bool()
            case Field.metadata:
                var record = try reader.record()
                metadata = try record.metadata()
            case Field.folder: destination.folder = try reader.string()
            case Field.path: destination.path = try reader.string()
            case Field.ifExists: destination.ifExists = try reader.raw()
            default: try reader.skip()
            }
        }
        if !destination.path.isEmpty { self.destination = destination }
    }
}

extension ContentDigest {
    /// Reads what `description` has written.
    package init(stored text: String) throws(StoreError) {
        do {
            try self.init(parsing: text)
        } catch {
            throw .damagedRecord
        }
    }
}
