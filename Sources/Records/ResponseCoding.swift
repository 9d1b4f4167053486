package import Engine
package import Semantics

extension ResponseRecord {
    private enum Field {
        static let url: UInt8 = 1
        static let status: UInt8 = 2
        static let httpVersion: UInt8 = 3
        static let header: UInt8 = 4
        static let expectedContentLength: UInt8 = 5
        static let mimeType: UInt8 = 6
        static let textEncodingName: UInt8 = 7
        static let suggestedFilename: UInt8 = 8
    }

    /// Writes the response. Its headers are secret when they set cookies.
    ///
    /// `base` is the task's URL, which need not be written again.
    package func write(to parts: inout RecordParts, base: String) {
        if url != base { parts.clear.put(Field.url, url) }
        parts.clear.put(Field.status, status)
        if httpVersion != "1.1" { parts.clear.put(Field.httpVersion, httpVersion) }
        headers.write(Field.header, to: &parts)
        if expectedContentLength != unknownSize {
            parts.clear.put(Field.expectedContentLength, expectedContentLength)
        }
        parts.clear.put(Field.mimeType, mimeType)
        parts.clear.put(Field.textEncodingName, textEncodingName)
        parts.clear.put(Field.suggestedFilename, suggestedFilename)
    }

    /// Reads only the name for a file, which is never secret.
    package static func fileName(in clear: RecordReader) throws(StoreError) -> String? {
        var reader = clear
        while let field = try reader.next() {
            guard field != Field.suggestedFilename else { return try reader.string() }
            try reader.skip()
        }
        return nil
    }

    /// Reads what `write` has written.
    package init(clear: RecordReader, secret: RecordReader?, base: String) throws(StoreError) {
        self.init(
            url: base, status: 0, httpVersion: "1.1", headers: HeaderList(),
            expectedContentLength: unknownSize, mimeType: nil, textEncodingName: nil,
            suggestedFilename: "")
        for part in [clear, secret] {
            guard var reader = part else { continue }
            while let field = try reader.next() {
                switch field {
                case Field.url: url = try reader.string()
                case Field.status: status = try reader.int()
                case Field.httpVersion: httpVersion = try reader.string()
                case Field.header: try reader.header(into: &headers)
                case Field.expectedContentLength: expectedContentLength = try reader.int64()
                case Field.mimeType: mimeType = try reader.string()
                case Field.textEncodingName: textEncodingName = try reader.string()
                case Field.suggestedFilename: suggestedFilename = try reader.string()
                default: try reader.skip()
                }
            }
        }
    }
}

extension ResponseRecord {
    /// Reads what `write` has written without a base into a record inside the record.
    package init(_ halves: RecordHalves) throws(StoreError) {
        let (clear, secret) = try halves.whole()
        try self.init(clear: clear, secret: secret, base: "")
    }
}

extension HeaderList {
    /// Writes a response's headers to the part that they belong to: a cookie that is set is a
    /// secret.
    package func write(_ field: UInt8, to parts: inout RecordParts) {
        if contains("Set-Cookie") {
            parts.secret.put(field, self)
        } else {
            parts.clear.put(field, self)
        }
    }
}
