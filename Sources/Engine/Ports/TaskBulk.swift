public import Semantics

extension TaskRecord {
    /// The bytes that strangers decide about: what was asked for, the response's headers, and the
    /// metadata.
    public var bulk: Int {
        requestBulk + (self.response?.headers.byteCount ?? 0) + self.options.metadata.byteCount
    }

    /// Those of them that stay the same: the request's URL, headers and body, and the mirrors.
    var requestBulk: Int { self.originalRequest.bulk + self.options.mirrors.bulk }
}

extension TaskSpec {
    /// Bytes that the request takes in memory while its task is not at rest.
    var requestBulk: Int { request.bulk + options.mirrors.bulk }
}

extension RequestRecord {
    fileprivate var bulk: Int {
        url.string.utf8.count + headers.byteCount + (body?.bytesInMemory ?? 0)
    }
}

extension [WebURL] {
    fileprivate var bulk: Int { reduce(0) { $0 + $1.string.utf8.count } }
}

extension [String: String] {
    /// The bytes of all names and texts.
    fileprivate var byteCount: Int { reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } }
}
