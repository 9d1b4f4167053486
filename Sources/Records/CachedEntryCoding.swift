package import Engine
package import Semantics

extension CachedEntry {
    private enum Field {
        static let url: UInt8 = 1
        static let status: UInt8 = 2
        static let httpVersion: UInt8 = 3
        static let header: UInt8 = 4
        static let requestTime: UInt8 = 5
        // Milliseconds after requestTime, which is read first.
        static let responseTime: UInt8 = 6
        static let length: UInt8 = 7
        static let isDecoded: UInt8 = 8
        static let isOutdated: UInt8 = 9
        static let selecting: UInt8 = 10
        static let userInfo: UInt8 = 11
    }

    /// Writes what has no column. The record must be sealed.
    package func writeMetadata(to writer: inout RecordWriter) {
        writer.put(Field.url, response.key.url)
        if response.status != 200 { writer.put(Field.status, response.status) }
        if response.httpVersion != "1.1" { writer.put(Field.httpVersion, response.httpVersion) }
        writer.put(Field.header, response.headers)
        writer.put(Field.requestTime, response.requestTime.milliseconds)
        writer.put(
            Field.responseTime,
            response.responseTime.milliseconds &- response.requestTime.milliseconds)
        writer.put(Field.length, response.length)
        writer.put(Field.isDecoded, response.isDecoded)
        writer.put(Field.isOutdated, response.isOutdated)
        for field in response.selecting.fields {
            writer.put(
                Field.selecting,
                record: { writer in
                    writer.text(field.name)
                    if let value = field.value { writer.text(value) }
                })
        }
        for (key, value) in userInfo {
            writer.put(
                Field.userInfo,
                record: { writer in
                    writer.text(key)
                    writer.text(value)
                })
        }
    }

    /// Reads what `writeMetadata` has written.
    package init(metadata: RecordReader, columns: CacheRow) throws(StoreError) {
        var reader = metadata
        var url = ""
        var status = 200
        var httpVersion = "1.1"
        var headers = HeaderList()
        var (requestTime, responseTime, length): (Int64, Int64, Int64) = (0, 0, 0)
        var (isDecoded, isOutdated) = (false, false)
        var selecting: [SelectingFields.Field] = []
        var userInfo: [String: String] = [:]
        while let field = try reader.next() {
            switch field {
            case Field.url: url = try reader.string()
            case Field.status: status = try reader.int()
            case Field.httpVersion: httpVersion = try reader.string()
            case Field.header: try reader.header(into: &headers)
            case Field.requestTime: requestTime = try reader.int64()
            case Field.responseTime: responseTime = requestTime &+ (try reader.int64())
            case Field.length: length = try reader.int64()
            case Field.isDecoded: isDecoded = try reader.bool()
            case Field.isOutdated: isOutdated = try reader.bool()
            case Field.selecting:
                var packed = try reader.record()
                let name = try packed.text()
                let value = packed.isAtEnd ? nil : try packed.text()
                selecting.append(SelectingFields.Field(name: name, value: value))
            case Field.userInfo:
                var packed = try reader.record()
                let key = try packed.text()
                userInfo[key] = try packed.text()
            default: try reader.skip()
            }
        }
        self.init(
            session: columns.session, tenant: columns.tenant,
            response: StoredResponse(
                id: columns.id.rawValue, key: CacheKey(stored: url),
                selecting: SelectingFields(stored: selecting), status: status,
                httpVersion: httpVersion, headers: headers,
                requestTime: Timestamp(milliseconds: requestTime),
                responseTime: Timestamp(milliseconds: responseTime), length: length,
                isDecoded: isDecoded, isOutdated: isOutdated),
            place: columns.isFile ? .file : .store, userInfo: userInfo, usedAt: columns.usedAt)
    }
}
