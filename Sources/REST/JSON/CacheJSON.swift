internal import Contract
internal import Engine
internal import JSON
internal import Semantics

extension CacheUsage {
    /// What the cache has and may have: the members of `CacheUsage` of openapi.yaml, but for the
    /// responses.
    ///
    /// - Parameters:
    ///   - json: what they are written to.
    ///   - capacity: the session's (S-24).
    func writeMembers(to json: inout JSONWriter, of capacity: CacheCapacity) {
        json.member("memoryUsage", memoryUsage)
        json.member("memoryCapacity", capacity.memoryCapacity)
        json.member("diskUsage", diskUsage)
        json.member("diskCapacity", capacity.diskCapacity)
        json.member("entryCount", entryCount)
    }
}

extension CachedEntry {
    /// Without the request's fields that `Vary` names: they may be secrets.
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("url", response.key.url)
            json.member("status", response.status)
            json.member("httpVersion", response.httpVersion)
            json.name("headers")
            response.headers.writePairs(to: &json)
            json.member("storedAt", instant: response.responseTime.milliseconds)
            json.member("usedAt", instant: usedAt.milliseconds)
            json.member("length", response.length)
            json.member("tier", place == .memory ? "memory" : "disk")
            json.object("userInfo") { json in
                for (name, value) in userInfo.sorted(by: { $0.key < $1.key }) {
                    json.member(named: name, value)
                }
            }
        }
    }
}
