package import JSON
package import Semantics

extension RequestRecord {
    /// The request as it is shown: without the body's bytes, and without sensitive values.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("url", url.string)
            json.member("method", method)
            json.name("headers")
            headers.writeObject(to: &json, hiding: sensitiveHeaders)
            json.member("sensitiveHeaders", sensitiveHeaders)
            json.member("cachePolicy", cachePolicy?.rawValue)
            json.member("timeoutInterval", timeoutInterval)
            json.name("body")
            if let body { body.write(to: &json) } else { json.null() }
            json.member("bodyLength", body?.length ?? 0)
        }
    }
}

extension BodyRecord {
    /// Where the body comes from; its length stands beside it.
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            switch self {
            case .bytes: json.member("kind", "data")
            case .file(let id, _):
                json.member("kind", "file")
                json.member("file", id)
            case .task(let id, _):
                json.member("kind", "task")
                json.member("task", id)
            case .stream: json.member("kind", "stream")
            }
        }
    }
}

extension TaskRecord {
    /// S-39: which body was asked for last, 0 before the first; nil for a task that streams none.
    package var shownBodyGeneration: Int? {
        let streams = self.originalRequest.body?.isStream == true || self.bodyGeneration > 0
        return streams ? self.bodyGeneration : nil
    }
}
