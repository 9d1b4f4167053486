package import JSON
package import Semantics

extension TaskView {
    /// The task as it is answered (`Task` of openapi.yaml).
    ///
    /// - Parameters:
    ///   - json: what it is written to.
    ///   - sharedSession: whether the session is shown as `shared` (S-4).
    ///   - hidesCookieValues: whether the response is shown as events show it.
    ///   - writeMore: writes what this answer has beside the task's own members.
    package func write(
        to json: inout JSONWriter, sharedSession: Bool, hidesCookieValues: Bool = false,
        and writeMore: (inout JSONWriter) -> Void = { _ in }
    ) {
        json.object { json in
            json.member("id", record.id)
            json.member(session: record.session, isShared: sharedSession)
            json.member("number", record.number)
            json.member("type", record.type.rawValue)
            json.member("state", record.state.rawValue)
            json.member("suspendCount", record.suspendCount)
            json.member("waitingFor", waitingFor?.rawValue)
            json.member("nextAttemptAt", instant: record.nextAttemptAt?.milliseconds)
            json.member("isDiscretionary", record.isDiscretionary)
            json.member("priority", record.options.priority)
            json.member("description", record.options.description)
            json.name("metadata")
            json.metadata(record.options.metadata)
            json.member("traceparent", record.traceContext?.parent)
            json.member("createdAt", instant: record.createdAt.milliseconds)
            json.member("startedAt", instant: record.startedAt?.milliseconds)
            json.member("completedAt", instant: record.completedAt?.milliseconds)
            json.member("delivery", record.options.delivery.rawValue)
            json.member("fileName", record.options.fileName)
            json.member("expectedDigest", record.options.expectedDigest?.description)
            json.member("computeDigest", record.options.computeDigest)
            json.member(
                "earliestBeginDate", instant: record.options.earliestBeginDate?.milliseconds)
            json.member(
                "countOfBytesClientExpectsToSend", record.options.countOfBytesClientExpectsToSend)
            json.member(
                "countOfBytesClientExpectsToReceive",
                record.options.countOfBytesClientExpectsToReceive)
            json.member("maximumBytesPerSecond", record.options.maximumBytesPerSecond)
            json.member("connections", record.options.connections)
            json.name("destination")
            writeDestination(to: &json)
            json.member("mirrors", record.options.mirrors.map(\.string))
            json.name("retry")
            if let retry = record.options.retry { retry.write(to: &json) } else { json.null() }
            json.name("originalRequest")
            record.originalRequest.write(to: &json)
            json.name("currentRequest")
            record.currentRequest.write(to: &json)
            json.name("response")
            let response = record.response
            if let shown = hidesCookieValues ? response?.withoutCookieValues : response {
                shown.write(to: &json)
            } else {
                json.null()
            }
            json.member("countOfBytesReceived", record.countOfBytesReceived)
            json.member("countOfBytesExpectedToReceive", record.countOfBytesExpectedToReceive)
            json.member("countOfBytesSent", record.countOfBytesSent)
            json.member("countOfBytesExpectedToSend", record.countOfBytesExpectedToSend)
            json.member("bodyGeneration", record.shownBodyGeneration)
            json.member("becameTask", record.dialogue.becameTask)
            json.member("retryOf", record.retryOf)
            json.member("progress", record.progress.map { ($0 * 10_000).rounded() / 10_000 })
            json.name("content")
            writeContent(to: &json)
            json.name("error")
            if let error = record.error { error.write(to: &json) } else { json.null() }
            json.name("metrics")
            record.metrics.write(to: &json)
            json.object("links") { json in
                json.member("self", path: "/v1/tasks/", record.id)
                json.member("events", path: "/v1/tasks/", record.id, "/events")
                json.member("content", path: "/v1/tasks/", record.id, "/content")
            }
            writeMore(&json)
        }
    }

    /// Where it is saved, or once it is, where it has been.
    private func writeDestination(to json: inout JSONWriter) {
        guard let destination = record.options.destination else {
            json.null()
            return
        }
        let ended = record.state == .completed ? record.saved?.path : nil
        json.object { json in
            json.member("folder", destination.folder)
            json.member("path", ended ?? destination.path)
            json.member("ifExists", destination.ifExists.rawValue)
        }
    }

    private func writeContent(to json: inout JSONWriter) {
        guard hasContent else {
            json.null()
            return
        }
        json.object { json in
            json.member("href", path: "/v1/tasks/", record.id, "/content")
            json.member(
                "length", record.content?.length ?? record.countOfBytesExpectedToReceive)
            json.member("digest", record.content?.digest)
            json.member("lengthVerified", record.content?.lengthVerified ?? false)
            json.member("complete", record.content.map { !$0.isPart } ?? false)
        }
    }
}

extension ResponseRecord {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("url", url)
            json.member("status", status)
            json.member("httpVersion", httpVersion)
            json.name("headers")
            headers.writePairs(to: &json)
            json.member("expectedContentLength", expectedContentLength)
            json.member("mimeType", mimeType)
            json.member("textEncodingName", textEncodingName)
            json.member("suggestedFilename", suggestedFilename)
        }
    }
}

extension TransferError {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("domain", domain)
            json.member("code", code)
            json.member("name", name)
            json.member("message", message)
            json.member("failingURL", failingURL)
            json.object("userInfo") { json in
                for (key, value) in userInfo.sorted(by: { $0.key < $1.key }) {
                    json.name(named: key)
                    switch value {
                    case .string(let text): json.string(text)
                    case .integer(let number): json.int(Int64(number))
                    }
                }
            }
            json.name("underlying")
            if let underlying {
                json.object { json in
                    json.member("layer", underlying.layer.rawValue)
                    json.member("code", underlying.code)
                    json.member("message", underlying.message)
                }
            } else {
                json.null()
            }
        }
    }
}

extension TaskMetrics {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("redirectCount", redirectCount)
            json.array("transactions") { json in
                for transaction in transactions { transaction.write(to: &json) }
            }
        }
    }
}

extension TransactionMetrics {
    /// Instants to the millisecond; phases that did not take place are left out.
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("url", url)
            json.member("method", method)
            json.member("status", status)
            json.member("resourceFetchType", resourceFetchType.rawValue)
            json.member("fetchStartDate", instant: fetchStart / 1000)
            json.phase("domainLookupStartDate", domainLookupStart)
            json.phase("domainLookupEndDate", domainLookupEnd)
            json.phase("connectStartDate", connectStart)
            json.phase("secureConnectionStartDate", secureConnectionStart)
            json.phase("secureConnectionEndDate", secureConnectionEnd)
            json.phase("connectEndDate", connectEnd)
            json.phase("requestStartDate", requestStart)
            json.phase("requestEndDate", requestEnd)
            json.phase("responseStartDate", responseStart)
            json.phase("responseEndDate", responseEnd)
            json.member("networkProtocolName", networkProtocolName)
            json.member("isReusedConnection", isReusedConnection)
            json.member("isProxyConnection", isProxyConnection)
            json.member("localAddress", localAddress)
            json.member("localPort", localPort)
            json.member("remoteAddress", remoteAddress)
            json.member("remotePort", remotePort)
            json.member("countOfRequestHeaderBytesSent", countOfRequestHeaderBytesSent)
            json.member("countOfRequestBodyBytesSent", countOfRequestBodyBytesSent)
            json.member("countOfResponseHeaderBytesReceived", countOfResponseHeaderBytesReceived)
            json.member("countOfResponseBodyBytesReceived", countOfResponseBodyBytesReceived)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func phase(_ name: StaticString, _ microseconds: Int64?) {
        if let microseconds { member(name, instant: microseconds / 1000) }
    }
}
