package import Engine
package import Semantics

extension SavedFile {
    private enum Field {
        static let path: UInt8 = 1
        static let device: UInt8 = 2
        static let inode: UInt8 = 3
        static let modified: UInt8 = 4
    }

    /// Writes which file it is.
    package func write(to writer: inout RecordWriter) {
        writer.put(Field.path, path)
        writer.put(Field.device, Int64(bitPattern: device))
        writer.put(Field.inode, Int64(bitPattern: inode))
        writer.put(Field.modified, modified)
    }

    /// Reads what `write` has written.
    package init(_ reader: RecordReader) throws(StoreError) {
        self.init(path: "", device: 0, inode: 0, modified: 0)
        var reader = reader
        while let field = try reader.next() {
            switch field {
            case Field.path: path = try reader.string()
            case Field.device: device = UInt64(bitPattern: try reader.int64())
            case Field.inode: inode = UInt64(bitPattern: try reader.int64())
            case Field.modified: modified = try reader.int64()
            default: try reader.skip()
            }
        }
    }
}
