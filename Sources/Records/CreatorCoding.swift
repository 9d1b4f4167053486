package import Engine
package import Semantics

/// What the request was that has created a task: beside the task's own request, in its record.
extension TaskRecord {
    /// None of `RequestRecord`'s.
    private enum Field {
        static let requestID: UInt8 = 24
        static let traceID: UInt8 = 25
        static let parentID: UInt8 = 26
        static let traceFlags: UInt8 = 27
        static let traceState: UInt8 = 28
    }

    package func writeCreator(to writer: inout RecordWriter) {
        if !self.requestID.isEmpty { writer.put(Field.requestID, self.requestID) }
        guard let trace = self.traceContext else { return }
        writer.put(Field.traceID, trace.traceID)
        writer.put(Field.parentID, trace.parentID)
        writer.put(Field.traceFlags, Int(trace.flags))
        writer.put(Field.traceState, trace.state)
    }

    /// Reads what `writeCreator` has written.
    package mutating func readCreator(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        var (traceID, parentID, flags) = ("", "", 0)
        var state: String?
        while let field = try reader.next() {
            switch field {
            case Field.requestID: self.requestID = try reader.string()
            case Field.traceID: traceID = try reader.string()
            case Field.parentID: parentID = try reader.string()
            case Field.traceFlags: flags = try reader.int()
            case Field.traceState: state = try reader.string()
            default: try reader.skip()
            }
        }
        guard !traceID.isEmpty else { return }
        self.traceContext = TraceContext(
            traceID: traceID, parentID: parentID, flags: UInt8(truncatingIfNeeded: flags),
            state: state)
    }
}
