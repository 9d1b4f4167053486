internal import Engine
internal import Semantics

extension RequestRecord {
    private enum Field {
        static let url: UInt8 = 1
        static let path: UInt8 = 2
        static let query: UInt8 = 3
        static let scheme: UInt8 = 4
        static let host: UInt8 = 5
        static let zone: UInt8 = 6
        static let port: UInt8 = 7
        static let method: UInt8 = 8
        static let header: UInt8 = 9
        static let sensitiveHeader: UInt8 = 10
        static let cachePolicy: UInt8 = 11
        static let timeoutInterval: UInt8 = 12
        static let body: UInt8 = 13
        static let bodyIsOriginal: UInt8 = 14
        static let pathLength: UInt8 = 15
        static let queryLength: UInt8 = 16
    }

    /// Writes the request. A body is always secret; the headers are when one of them is sensitive.
    ///
    /// `original` is the task's first request, whose body need not be written again.
    func write(to parts: inout RecordParts, original: RequestRecord? = nil) {
        write(url, to: &parts.clear)
        if method != "GET" { parts.clear.put(Field.method, method) }
        if headers.fields.contains(where: {
            HeaderRules.isSensitive($0.name, marked: sensitiveHeaders)
        }) {
            parts.secret.put(Field.header, headers)
        } else {
            parts.clear.put(Field.header, headers)
        }
        for name in sensitiveHeaders { parts.clear.put(Field.sensitiveHeader, name) }
        if let cachePolicy { parts.clear.put(Field.cachePolicy, cachePolicy.rawValue) }
        if let timeoutInterval { parts.clear.put(Field.timeoutInterval, timeoutInterval) }
        guard let body else { return }
        if let original, original.body == body {
            parts.clear.put(Field.bodyIsOriginal, true)
        } else {
            parts.secret.put(Field.body, body)
        }
    }

    /// Path and query are the end of the text; their lengths say where they begin, so that nothing
    /// is parsed.
    private func write(_ url: WebURL, to writer: inout RecordWriter) {
        writer.put(Field.url, url.string)
        let pathLength = url.path.utf8.count
        let queryLength = url.query?.utf8.count
        if let end = URLEnd(of: url.string, pathLength: pathLength, queryLength: queryLength),
            end.path == url.path, end.query == url.query
        {
            writer.put(Field.pathLength, pathLength)
            writer.put(Field.queryLength, queryLength)
        } else {
            writer.put(Field.path, url.path)
            writer.put(Field.query, url.query)
        }
        writer.put(Field.scheme, url.scheme)
        writer.put(Field.host, url.host)
        writer.put(Field.zone, url.zone)
        writer.put(Field.port, url.port)
    }

    /// Reads only the URL's text; empty where no request is left.
    static func url(in clear: [UInt8]) throws(StoreError) -> String {
        var reader = RecordReader(clear)
        while let field = try reader.next() {
            guard field != Field.url else { return try reader.string() }
            try reader.skip()
        }
        return ""
    }

    /// Reads what `write` has written.
    init(
        clear: RecordReader, secret: RecordReader?, original: RequestRecord? = nil
    ) throws(StoreError) {
        var text = ""
        var path: String?
        var query: String?
        var pathLength: Int?
        var queryLength: Int?
        var scheme = ""
        var host = ""
        var zone: String?
        var port = 0
        self.init(url: WebURL(string: "", scheme: "", host: "", port: 0, path: ""))
        for part in [clear, secret] {
            guard var reader = part else { continue }
            while let field = try reader.next() {
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
                case Field.method: method = try reader.string()
                case Field.header: try reader.header(into: &headers)
                case Field.sensitiveHeader: sensitiveHeaders.append(try reader.string())
                case Field.cachePolicy: cachePolicy = try reader.raw()
                case Field.timeoutInterval: timeoutInterval = try reader.double()
                case Field.body: body = try reader.byteArray()
                case Field.bodyIsOriginal:
                    if try reader.bool() { body = original?.body }
                default: try reader.skip()
                }
            }
        }
        if let pathLength {
            guard let end = URLEnd(of: text, pathLength: pathLength, queryLength: queryLength)
            else {
                throw .damagedRecord
            }
            path = end.path
            query = end.query
        }
        url = WebURL(
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
