package import JSON
package import Semantics

extension Event {
    /// The event's data: one line of JSON (`Event` of openapi.yaml). What an earlier version stored
    /// may have values of cookies; they are not shown (security §5).
    ///
    /// - Parameters:
    ///   - sharedSession: whether the session is shown as `shared` (S-4).
    ///   - bytes: an inline event's bytes, where the event does not carry them itself.
    /// - Returns: UTF-8 without a line break.
    package func data(sharedSession: Bool, bytes: [UInt8]? = nil) -> [UInt8] {
        var json = JSONWriter(capacity: 1024)
        write(to: &json, sharedSession: sharedSession, bytes: bytes)
        return json.finish()
    }

    /// Writes the same.
    package func write(to json: inout JSONWriter, sharedSession: Bool, bytes: [UInt8]? = nil) {
        json.object { writeMembers(sharedSession: sharedSession, bytes, to: &$0) }
    }

    /// What a webhook's receiver is told of the event (`WebhookMessage` of openapi.yaml).
    ///
    /// - Parameters:
    ///   - identifier: names the event in its stream.
    ///   - sharedSession: whether the session is shown as `shared` (S-4).
    /// - Returns: UTF-8.
    package func webhookBody(identifier: String, sharedSession: Bool) -> [UInt8] {
        var json = JSONWriter(capacity: 1024)
        json.object { json in
            json.member("type", body.name)
            json.member("timestamp", instant: at.milliseconds)
            json.object("data") { json in
                json.member("id", identifier)
                writeMembers(sharedSession: sharedSession, nil, to: &json)
            }
        }
        return json.finish()
    }

    private func writeMembers(
        sharedSession: Bool, _ bytes: [UInt8]?, to json: inout JSONWriter
    ) {
        json.member("event", body.name)
        json.member(session: session, isShared: sharedSession)
        if let task { json.member("task", task) }
        json.member("at", instant: at.milliseconds)
        write(body.withoutCookieValues, bytes, to: &json)
    }

    private func write(_ body: EventBody, _ replayed: [UInt8]?, to json: inout JSONWriter) {
        switch body {
        case .didCreate, .isWaitingForConnectivity, .didDelete, .didChangeCredentialStorage,
            .didFinishEvents:
            break
        case .didChange(let members):
            json.object("changes") { json in
                for member in members { member.write(to: &json) }
            }
        case .didReceiveInformationalResponse(let status, let headers):
            json.member("status", status)
            json.name("headers")
            headers.writePairs(to: &json)
        case .needNewBodyStream(let generation, let decision):
            json.member("generation", generation)
            decision.writeMember(to: &json)
        case .didResumeAtOffset(let offset, let expected):
            json.member("fileOffset", offset)
            json.member("expectedTotalBytes", expected)
        case .willRetry(let attempt, let delay, let reason):
            json.member("attempt", attempt)
            json.member("delay", delay)
            json.member("reason", reason)
        case .didReceiveResponse(let response, let decision):
            json.name("response")
            response.write(to: &json)
            decision?.writeMember(to: &json)
        case .didReceiveChallenge(let challenge, let decision):
            json.name("challenge")
            challenge.write(to: &json)
            decision.writeMember(to: &json)
        case .willPerformHTTPRedirection(let response, let request, let decision):
            json.name("response")
            response.write(to: &json)
            json.name("request")
            request.write(to: &json)
            decision.writeMember(to: &json)
        case .didBecomeDownloadTask(let download):
            json.member("downloadTask", download)
        case .willCacheResponse(let response, let decision):
            json.name("response")
            response.write(to: &json)
            json.member("storagePolicy", CacheStoragePolicy.allowed.rawValue)
            json.object("userInfo") { _ in }
            decision.writeMember(to: &json)
        case .willBeginDelayedRequest(let request, let decision):
            json.name("request")
            request.write(to: &json)
            decision.writeMember(to: &json)
        case .didReceiveData(let offset, let length, let inline, let bytes):
            json.member("offset", offset)
            json.member("length", length)
            guard inline else { return }
            if let bytes = bytes ?? replayed {
                json.member("data", base64: bytes)
            } else {
                json.name("data")
                json.null()
            }
        case .didWriteData(let new, let total, let expected):
            json.member("bytesWritten", new)
            json.member("totalBytesWritten", total)
            json.member("totalBytesExpectedToWrite", expected)
        case .didSendBodyData(let new, let total, let expected):
            json.member("bytesSent", new)
            json.member("totalBytesSent", total)
            json.member("totalBytesExpectedToSend", expected)
        case .didFinishDownloading(let place):
            json.member("location", path: "/v1/tasks/", task, "/content")
            guard let place else { return }
            json.object("destination") { json in
                json.member("folder", place.folder)
                json.member("path", place.path)
            }
        case .didFinishCollectingMetrics(let metrics):
            json.name("metrics")
            metrics.write(to: &json)
        case .didDisableWebhook(let webhook, let reason):
            json.member("webhook", webhook)
            json.member("reason", reason.rawValue)
        case .didComplete(let error), .didBecomeInvalid(let error):
            json.name("error")
            if let error { error.write(to: &json) } else { json.null() }
        }
    }
}

extension TaskAppearance.Member {
    /// As the task itself shows it (`Task` of openapi.yaml).
    fileprivate func write(to json: inout JSONWriter) {
        switch self {
        case .state(let state): json.member("state", state.rawValue)
        case .suspendCount(let count): json.member("suspendCount", count)
        case .waitingFor(let reason): json.member("waitingFor", reason?.rawValue)
        case .nextAttemptAt(let instant):
            json.member("nextAttemptAt", instant: instant?.milliseconds)
        case .startedAt(let instant): json.member("startedAt", instant: instant?.milliseconds)
        case .priority(let priority): json.member("priority", priority)
        case .description(let text): json.member("description", text)
        case .metadata(let metadata):
            json.name("metadata")
            json.metadata(metadata)
        case .earliestBeginDate(let instant):
            json.member("earliestBeginDate", instant: instant?.milliseconds)
        case .maximumBytesPerSecond(let limit): json.member("maximumBytesPerSecond", limit)
        }
    }
}
