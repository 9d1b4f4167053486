package import Engine
package import Semantics

extension RequestRecord {
    /// Beside those of `StoredURL`.
    private enum Field {
        static let method: UInt8 = 8
        static let header: UInt8 = 9
        static let sensitiveHeader: UInt8 = 10
        static let cachePolicy: UInt8 = 11
        static let timeoutInterval: UInt8 = 12
        static let bodyBytes: UInt8 = 13
        static let bodyIsOriginal: UInt8 = 14
        static let bodyFile: UInt8 = 17
        static let bodyTask: UInt8 = 18
        static let bodyStream: UInt8 = 19
        static let isForMirror: UInt8 = 20
    }

    /// Writes the request. The bytes of a body are always secret; the headers are when one of them
    /// is sensitive.
    ///
    /// `original` is the task's first request, whose body need not be written again.
    package func write(to parts: inout RecordParts, original: RequestRecord? = nil) {
        url.write(to: &parts.clear)
        if method != "GET" { parts.clear.put(Field.method, method) }
        let sensitive = SensitiveNames(marking: sensitiveHeaders)
        if headers.fields.contains(where: { sensitive.contains($0.name) }) {
            parts.secret.put(Field.header, headers)
        } else {
            parts.clear.put(Field.header, headers)
        }
        for name in sensitiveHeaders { parts.clear.put(Field.sensitiveHeader, name) }
        if let cachePolicy { parts.clear.put(Field.cachePolicy, cachePolicy.rawValue) }
        if let timeoutInterval { parts.clear.put(Field.timeoutInterval, timeoutInterval) }
        if isForMirror { parts.clear.put(Field.isForMirror, true) }
        guard let body else { return }
        if let original, original.body == body {
            parts.clear.put(Field.bodyIsOriginal, true)
        } else {
            Self.write(body, to: &parts)
        }
    }

    /// Writes a body: the bytes themselves, or where they come from.
    private static func write(_ body: BodyRecord, to parts: inout RecordParts) {
        switch body {
        case .bytes(let bytes): parts.secret.put(Field.bodyBytes, bytes)
        case .file(let file, let length):
            parts.clear.put(Field.bodyFile, numbers: file.rawValue, length)
        case .task(let task, let length):
            parts.clear.put(Field.bodyTask, numbers: task.rawValue, length)
        case .stream(let length): parts.clear.put(Field.bodyStream, length)
        }
    }

    /// Reads only the URL's text; empty where no request is left.
    package static func url(in clear: [UInt8]) throws(StoreError) -> String {
        try StoredURL.text(in: RecordReader(clear))
    }

    /// Reads only the URL's text and its host.
    package static func place(in clear: [UInt8]) throws(StoreError) -> (url: String, host: String) {
        try StoredURL.place(in: RecordReader(clear))
    }

    /// Reads what `write` has written.
    package init(
        clear: RecordReader, secret: RecordReader?, original: RequestRecord? = nil
    ) throws(StoreError) {
        var url = StoredURL()
        self.init(url: WebURL(string: "", scheme: "", host: "", port: 0, path: ""))
        for part in [clear, secret] {
            guard var reader = part else { continue }
            while let field = try reader.next() {
                switch field {
                case Field.method: method = try reader.string()
                case Field.header: try reader.header(into: &headers)
                case Field.sensitiveHeader: sensitiveHeaders.append(try reader.string())
                case Field.cachePolicy: cachePolicy = try reader.raw()
                case Field.timeoutInterval: timeoutInterval = try reader.double()
                case Field.bodyBytes: body = .bytes(try reader.byteArray())
                case Field.bodyIsOriginal:
                    if try reader.bool() { body = original?.body }
                case Field.bodyFile:
                    let (file, length) = try reader.numbers()
                    body = .file(FileID(rawValue: file), length: length)
                case Field.bodyTask:
                    let (task, length) = try reader.numbers()
                    body = .task(TaskID(rawValue: task), length: length)
                case Field.isForMirror: isForMirror = try reader.bool()
                case Field.bodyStream: body = .stream(length: try reader.int64())
                default:
                    if try !url.take(field, from: &reader) { try reader.skip() }
                }
            }
        }
        self.url = try url.url()
    }

    /// Reads what `write` has written into a record inside the record.
    package init(_ halves: RecordHalves, original: RequestRecord? = nil) throws(StoreError) {
        let (clear, secret) = try halves.whole()
        try self.init(clear: clear, secret: secret, original: original)
    }
}
