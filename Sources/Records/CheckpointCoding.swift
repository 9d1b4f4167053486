package import Engine
package import Semantics

extension DownloadCheckpoint {
    private enum Field {
        static let part: UInt8 = 1
        static let tag: UInt8 = 2
        static let date: UInt8 = 3
        static let total: UInt8 = 4
        static let received: UInt8 = 5
        static let modified: UInt8 = 6
        static let series: UInt8 = 7
    }

    /// Writes the checkpoint of a task; `part` is left out where it is the task's own.
    ///
    /// It is written with every few megabytes that arrive, so it is short: about 50 bytes for a
    /// download on one connection.
    package func write(to writer: inout RecordWriter, of task: TaskID) {
        if part != task { writer.put(Field.part, part.rawValue) }
        writer.put(Field.tag, point.validators.tag?.description)
        let validators = point.validators
        writer.put(Field.date, validators.date)
        if validators.modified != validators.date {
            writer.put(Field.modified, validators.modified)
        }
        writer.put(Field.total, point.total)
        writer.put(Field.series, series)
        writer.put(
            Field.received,
            record: { writer in
                var end: Int64 = 0
                for range in point.received {
                    writer.varint(UInt64(bitPattern: range.lowerBound &- end))
                    writer.varint(UInt64(bitPattern: range.upperBound &- range.lowerBound))
                    end = range.upperBound
                }
            })
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader, of task: TaskID) throws(StoreError) {
        var reader = reader
        var part = task
        var tag: EntityTag?
        var date: String?
        var modified: String?
        var total: Int64?
        var series: Int64?
        var received: [Range<Int64>] = []
        while let field = try reader.next() {
            switch field {
            case Field.part: part = TaskID(rawValue: try reader.int64())
            case Field.tag:
                tag = EntityTag(try reader.string())
                guard tag != nil else { throw .damagedRecord }
            case Field.date: date = try reader.string()
            case Field.modified: modified = try reader.string()
            case Field.total: total = try reader.int64()
            case Field.series: series = try reader.int64()
            case Field.received:
                var packed = try reader.record()
                while !packed.isAtEnd {
                    let start = try packed.offset(after: received.last?.upperBound ?? 0)
                    received.append(start..<(try packed.offset(after: start)))
                }
            default: try reader.skip()
            }
        }
        let validators = EntityValidators(tag: tag, date: date, modified: modified)
        guard let entity = RangedEntity(validators: validators, total: total),
            let point = ResumePoint(entity: entity, received: received)
        else { throw .damagedRecord }
        self.init(point: point, part: part, series: series)
    }
}

extension RecordReader {
    /// An offset as its distance from an earlier one.
    fileprivate mutating func offset(after base: Int64) throws(StoreError) -> Int64 {
        guard let distance = Int64(exactly: try varint()) else { throw .damagedRecord }
        let (offset, overflows) = base.addingReportingOverflow(distance)
        guard !overflows else { throw .damagedRecord }
        return offset
    }
}
