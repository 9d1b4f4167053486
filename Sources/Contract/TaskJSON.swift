package import JSON
package import Semantics

extension TaskView {
    /// The task as it is answered (`Task` of openapi.yaml).
    ///
    /// - Parameters:
    ///   - json: what it is written to.
    ///   - sharedSession: whether the session is shown as `shared` (S-4).
    ///   - hidesCookieValues: whether the response is shown as events show it.
    ///   - members: those that are written; nil for all.
    ///   - writeMore: writes what this answer has beside the task's own members.
    package func write(
        to json: inout JSONWriter, sharedSession: Bool, hidesCookieValues: Bool = false,
        only members: [TaskMember]? = nil, and writeMore: (inout JSONWriter) -> Void = { _ in }
    ) {
        json.object { json in
            for member in members ?? TaskMember.all {
                write(member, to: &json, sharedSession, hidesCookieValues)
            }
            writeMore(&json)
        }
    }

    private func write(
        _ member: TaskMember, to json: inout JSONWriter, _ sharedSession: Bool,
        _ hidesCookieValues: Bool
    ) {
        switch member {
        case .id: json.member("id", record.id)
        case .session: json.member(session: record.session, isShared: sharedSession)
        case .number: json.member("number", record.number)
        case .type: json.member("type", record.type.rawValue)
        case .state: json.member("state", record.state.rawValue)
        case .suspendCount: json.member("suspendCount", record.suspendCount)
        case .waitingFor: json.member("waitingFor", waitingFor?.rawValue)
        case .nextAttemptAt:
            json.member("nextAttemptAt", instant: record.nextAttemptAt?.milliseconds)
        case .isDiscretionary: json.member("isDiscretionary", record.isDiscretionary)
        case .priority: json.member("priority", record.options.priority)
        case .description: json.member("description", record.options.description)
        case .metadata:
            json.name("metadata")
            json.metadata(record.options.metadata)
        case .traceparent: json.member("traceparent", record.traceContext?.parent)
        case .createdAt: json.member("createdAt", instant: record.createdAt.milliseconds)
        case .startedAt: json.member("startedAt", instant: record.startedAt?.milliseconds)
        case .completedAt: json.member("completedAt", instant: record.completedAt?.milliseconds)
        case .delivery: json.member("delivery", record.options.delivery.rawValue)
        case .fileName: json.member("fileName", record.options.fileName)
        case .expectedDigest:
            json.member("expectedDigest", record.options.expectedDigest?.description)
        case .computeDigest: json.member("computeDigest", record.options.computeDigest)
        case .earliestBeginDate:
            json.member(
                "earliestBeginDate", instant: record.options.earliestBeginDate?.milliseconds)
        case .countOfBytesClientExpectsToSend:
            json.member(
                "countOfBytesClientExpectsToSend", record.options.countOfBytesClientExpectsToSend)
        case .countOfBytesClientExpectsToReceive:
            json.member(
                "countOfBytesClientExpectsToReceive",
                record.options.countOfBytesClientExpectsToReceive)
        case .maximumBytesPerSecond:
            json.member("maximumBytesPerSecond", record.options.maximumBytesPerSecond)
        case .connections: json.member("connections", record.options.connections)
        case .destination:
            json.name("destination")
            writeDestination(to: &json)
        case .mirrors: json.member("mirrors", record.options.mirrors.map(\.string))
        case .retry:
            json.name("retry")
            if let retry = record.options.retry { retry.write(to: &json) } else { json.null() }
        case .originalRequest:
            json.name("originalRequest")
            record.originalRequest.write(to: &json)
        case .currentRequest:
            json.name("currentRequest")
            record.currentRequest.write(to: &json)
        case .response:
            json.name("response")
            let response = record.response
            if let shown = hidesCookieValues ? response?.withoutCookieValues : response {
                shown.write(to: &json)
            } else {
                json.null()
            }
        case .countOfBytesReceived: json.member("countOfBytesReceived", record.countOfBytesReceived)
        case .countOfBytesExpectedToReceive:
            json.member("countOfBytesExpectedToReceive", record.countOfBytesExpectedToReceive)
        case .countOfBytesSent: json.member("countOfBytesSent", record.countOfBytesSent)
        case .countOfBytesExpectedToSend:
            json.member("countOfBytesExpectedToSend", record.countOfBytesExpectedToSend)
        case .bodyGeneration: json.member("bodyGeneration", record.shownBodyGeneration)
        case .becameTask: json.member("becameTask", record.dialogue.becameTask)
        case .retryOf: json.member("retryOf", record.retryOf)
        case .progress:
            json.member("progress", record.progress.map { ($0 * 10_000).rounded() / 10_000 })
        case .content:
            json.name("content")
            writeContent(to: &json)
        case .error:
            json.name("error")
            if let error = record.error { error.write(to: &json) } else { json.null() }
        case .metrics:
            json.name("metrics")
            record.metrics.write(to: &json)
        case .links:
            json.object("links") { json in
                json.member("self", path: "/v1/tasks/", record.id)
                json.member("events", path: "/v1/tasks/", record.id, "/events")
                json.member("content", path: "/v1/tasks/", record.id, "/content")
            }
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
