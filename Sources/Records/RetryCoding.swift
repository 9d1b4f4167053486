package import Engine
package import Semantics

extension RetryPolicy {
    private enum Field {
        static let attempts: UInt8 = 1
        static let statuses: UInt8 = 2
        static let initial: UInt8 = 3
        static let maximum: UInt8 = 4
        static let multiplier: UInt8 = 5
        static let respectsRetryAfter: UInt8 = 6
        static let allowsNonIdempotent: UInt8 = 7
    }

    /// Writes every part, so that a default may change in a later version and a task does not.
    package func write(to writer: inout RecordWriter) {
        writer.put(Field.attempts, attempts)
        writer.put(
            Field.statuses,
            record: { writer in
                for status in statuses { writer.varint(zigzag: Int64(status)) }
            })
        writer.put(Field.initial, initial)
        writer.put(Field.maximum, maximum)
        writer.put(Field.multiplier, multiplier)
        writer.put(Field.respectsRetryAfter, respectsRetryAfter)
        writer.put(Field.allowsNonIdempotent, allowsNonIdempotent)
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        var attempts = 0
        var statuses: [Int] = []
        var initial = 0.0
        var maximum = 0.0
        var multiplier = 0.0
        var respectsRetryAfter = false
        var allowsNonIdempotent = false
        while let field = try reader.next() {
            switch field {
            case Field.attempts: attempts = try reader.int()
            case Field.statuses:
                var packed = try reader.record()
                while !packed.isAtEnd { statuses.append(Int(try packed.zigzag())) }
            case Field.initial: initial = try reader.double()
            case Field.maximum: maximum = try reader.double()
            case Field.multiplier: multiplier = try reader.double()
            case Field.respectsRetryAfter: respectsRetryAfter = try reader.bool()
            case Field.allowsNonIdempotent: allowsNonIdempotent = try reader.bool()
            default: try reader.skip()
            }
        }
        do {
            try self.init(
                attempts: attempts, statuses: statuses, initial: initial, maximum: maximum,
                multiplier: multiplier, respectsRetryAfter: respectsRetryAfter,
                allowsNonIdempotent: allowsNonIdempotent)
        } catch {
            throw .damagedRecord
        }
    }
}
