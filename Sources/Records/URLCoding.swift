package import Engine
package import Semantics

extension WebURL {
    /// Writes the URL's fields into a record, which may have others beside them.
    ///
    /// Path and query are the end of the text; their lengths say where they begin, so that nothing
    /// is parsed.
    package func write(to writer: inout RecordWriter) {
        writer.put(StoredURL.Field.url, string)
        let pathLength = path.utf8.count
        let queryLength = query?.utf8.count
        if let end = URLEnd(of: string, pathLength: pathLength, queryLength: queryLength),
            end.path == path, end.query == query
        {
            writer.put(StoredURL.Field.pathLength, pathLength)
            writer.put(StoredURL.Field.queryLength, queryLength)
        } else {
            writer.put(StoredURL.Field.path, path)
            writer.put(StoredURL.Field.query, query)
        }
        writer.put(StoredURL.Field.scheme, scheme)
        writer.put(StoredURL.Field.host, host)
        writer.put(StoredURL.Field.zone, zone)
        writer.put(StoredURL.Field.port, port)
    }

    /// Reads a record that is a URL.
    package init(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        var url = StoredURL()
        while let field = try reader.next() {
            if try !url.take(field, from: &reader) { try reader.skip() }
        }
        self = try url.url()
    }
}

/// A URL whose fields are being read.
package struct StoredURL {
    fileprivate enum Field {
        static let url: UInt8 = 1
        static let path: UInt8 = 2
        static let query: UInt8 = 3
        static let scheme: UInt8 = 4
        static let host: UInt8 = 5
        static let zone: UInt8 = 6
        static let port: UInt8 = 7
        static let pathLength: UInt8 = 15
        static let queryLength: UInt8 = 16
    }

    private var text = ""
    private var path: String?
    private var query: String?
    private var pathLength: Int?
    private var queryLength: Int?
    private var scheme = ""
    private var host = ""
    private var zone: String?
    private var port = 0

    /// Reads only the text; empty where there is none.
    static func text(in reader: RecordReader) throws(StoreError) -> String {
        var reader = reader
        while let field = try reader.next() {
            guard field != Field.url else { return try reader.string() }
            try reader.skip()
        }
        return ""
    }

    /// Reads only the text and the host.
    package static func place(in reader: RecordReader) throws(StoreError) -> (
        url: String, host: String
    ) {
        var reader = reader
        var (url, host) = ("", "")
        while let field = try reader.next() {
            switch field {
            case Field.url: url = try reader.string()
            case Field.host: host = try reader.string()
            default: try reader.skip()
            }
        }
        return (url, host)
    }

    /// Reads the field's value if it is one of a URL's; else answers false.
    package mutating func take(_ field: UInt8, from reader: inout RecordReader) throws(StoreError)
        -> Bool
    {
        switch field {
        case Field.url: text = try reader.string()
        case Field.path: path = try reader.string()
        case Field.query: query = try reader.string()
        case Field.pathLength: pathLength = try reader.int()
        case Field.queryLength: queryLength = try reader.int()
        case Field.scheme: scheme = try reader.string()
        case Field.host: host = try reader.string()
        case Field.zone: zone = try reader.string()
        case Field.port: port = try reader.int()
        default: return false
        }
        return true
    }

    /// The whole, once every field has been taken.
    package func url() throws(StoreError) -> WebURL {
        var path = path
        var query = query
        if let pathLength {
            guard let end = URLEnd(of: text, pathLength: pathLength, queryLength: queryLength)
            else { throw .damagedRecord }
            path = end.path
            query = end.query
        }
        return WebURL(
            string: text, scheme: scheme, host: host, zone: zone, port: port, path: path ?? "",
            query: query)
    }
}

/// The path and the query that end a URL's text, cut out by their lengths in bytes.
private struct URLEnd {
    let path: String
    let query: String?

    init?(of text: String, pathLength: Int, queryLength: Int?) {
        let bytes = text.utf8
        guard (0...bytes.count).contains(pathLength), (0...bytes.count).contains(queryLength ?? 0)
        else {
            return nil
        }
        let length = pathLength + (queryLength.map { $0 + 1 } ?? 0)
        guard length <= bytes.count else { return nil }
        let start = bytes.index(bytes.endIndex, offsetBy: -length)
        let end = bytes.index(start, offsetBy: pathLength)
        path = String(decoding: bytes[start..<end], as: UTF8.self)
        guard queryLength != nil else {
            query = nil
            return
        }
        guard bytes[end] == UInt8(ascii: "?") else { return nil }
        query = String(decoding: bytes[bytes.index(after: end)...], as: UTF8.self)
    }
}
