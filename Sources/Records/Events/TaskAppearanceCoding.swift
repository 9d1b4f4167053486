package import Engine
internal import Semantics

/// What `task.didChange` tells, as it is stored and read again: a field for each member that has
/// changed. One that is nil now has no value, only its number in `absent`.
extension [TaskAppearance.Member] {
    private enum Field {
        static let absent: UInt8 = 1
        static let state: UInt8 = 2
        static let suspendCount: UInt8 = 3
        static let waitingFor: UInt8 = 4
        static let nextAttemptAt: UInt8 = 5
        static let startedAt: UInt8 = 6
        static let priority: UInt8 = 7
        static let description: UInt8 = 8
        static let earliestBeginDate: UInt8 = 9
        static let maximumBytesPerSecond: UInt8 = 10
        static let metadata: UInt8 = 11
    }

    package func write(to writer: inout RecordWriter) {
        for member in self {
            switch member {
            case .waitingFor(nil): writer.put(Field.absent, Int(Field.waitingFor))
            case .nextAttemptAt(nil): writer.put(Field.absent, Int(Field.nextAttemptAt))
            case .startedAt(nil): writer.put(Field.absent, Int(Field.startedAt))
            case .description(nil): writer.put(Field.absent, Int(Field.description))
            case .earliestBeginDate(nil): writer.put(Field.absent, Int(Field.earliestBeginDate))
            case .maximumBytesPerSecond(nil):
                writer.put(Field.absent, Int(Field.maximumBytesPerSecond))
            case .state(let state): writer.put(Field.state, state.rawValue)
            case .suspendCount(let count): writer.put(Field.suspendCount, count)
            case .waitingFor(let reason?): writer.put(Field.waitingFor, reason.rawValue)
            case .nextAttemptAt(let instant?):
                writer.put(Field.nextAttemptAt, instant.milliseconds)
            case .startedAt(let instant?): writer.put(Field.startedAt, instant.milliseconds)
            case .priority(let priority): writer.put(Field.priority, priority)
            case .description(let text?): writer.put(Field.description, text)
            case .metadata(let metadata):
                writer.put(Field.metadata, record: { $0.put(metadata: metadata) })
            case .earliestBeginDate(let instant?):
                writer.put(Field.earliestBeginDate, instant.milliseconds)
            case .maximumBytesPerSecond(let limit?):
                writer.put(Field.maximumBytesPerSecond, limit)
            }
        }
    }

    /// Reads the members, in the order in which they were written.
    package init(_ reader: RecordReader) throws(StoreError) {
        self = []
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.absent:
                if let member = Self.absent(try reader.int()) { append(member) }
            case Field.state: append(.state(try reader.raw()))
            case Field.suspendCount: append(.suspendCount(try reader.int()))
            case Field.waitingFor:
                let reason: WaitReason = try reader.raw()
                append(.waitingFor(reason))
            case Field.nextAttemptAt: append(.nextAttemptAt(try reader.timestamp()))
            case Field.startedAt: append(.startedAt(try reader.timestamp()))
            case Field.priority: append(.priority(try reader.double()))
            case Field.description: append(.description(try reader.string()))
            case Field.metadata:
                var metadata = try reader.record()
                append(.metadata(try metadata.metadata()))
            case Field.earliestBeginDate: append(.earliestBeginDate(try reader.timestamp()))
            case Field.maximumBytesPerSecond:
                append(.maximumBytesPerSecond(try reader.int64()))
            default: try reader.skip()
            }
        }
    }

    private static func absent(_ field: Int) -> TaskAppearance.Member? {
        switch UInt8(exactly: field) {
        case Field.waitingFor: .waitingFor(nil)
        case Field.nextAttemptAt: .nextAttemptAt(nil)
        case Field.startedAt: .startedAt(nil)
        case Field.description: .description(nil)
        case Field.earliestBeginDate: .earliestBeginDate(nil)
        case Field.maximumBytesPerSecond: .maximumBytesPerSecond(nil)
        default: nil
        }
    }
}

extension RecordReader {
    fileprivate mutating func timestamp() throws(StoreError) -> Timestamp {
        Timestamp(milliseconds: try int64())
    }
}
