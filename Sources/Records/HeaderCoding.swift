package import Engine
package import Semantics

extension RecordWriter {
    /// Puts each field of a list as one packed field: name and value, each behind its length.
    package mutating func put(_ field: UInt8, _ headers: HeaderList) {
        for header in headers.fields {
            put(
                field,
                record: { writer in
                    writer.text(header.name)
                    writer.text(header.value)
                })
        }
    }
}

extension RecordReader {
    /// Reads one field of a list.
    package mutating func header(into headers: inout HeaderList) throws(StoreError) {
        var packed = try record()
        headers.append(try packed.text(), try packed.text())
    }
}
