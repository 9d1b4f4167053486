public import HTTP
internal import Loop

extension Service {
    /// All routes. What stands here stands in openapi.yaml, and the other way round.
    var endpoints: [Endpoint] {
        [
            Endpoint("GET", "/", .open, showPage),
            Endpoint("GET", "/page/{file}", .open, showPageFile),
            Endpoint("GET", "/healthz", .open, health),
            Endpoint("GET", "/readyz", .open, readiness),
            Endpoint("GET", "/openapi.yaml", .open, contract),
            Endpoint("GET", "/openapi.json", .open, contractAsJSON),
            Endpoint("GET", "/problems", .open, listProblems),
            Endpoint("GET", "/problems/{code}", .open, explainProblem),
            Endpoint("GET", "/metrics", .eitherScope(.metrics, .admin), metrics),
            Endpoint("GET", "/v1/gateway", .scope(.admin), describeGateway),
            Endpoint("PATCH", "/v1/gateway", .scope(.admin), changeGateway),

            Endpoint("POST", "/v1/browser-session", .anyToken, startBrowserSession),
            Endpoint("DELETE", "/v1/browser-session", .anyToken, endBrowserSession),

            Endpoint("POST", "/v1/sessions", .scope(.sessions), createSession),
            Endpoint("GET", "/v1/sessions", .scope(.sessions), listSessions),
            Endpoint("GET", "/v1/sessions/{session}", .scope(.sessions), showSession),
            Endpoint("PATCH", "/v1/sessions/{session}", .scope(.sessions), changeSession),
            Endpoint(
                "POST", "/v1/sessions/{session}/invalidate", .scope(.sessions), invalidateSession),
            Endpoint("POST", "/v1/sessions/{session}/reset", .scope(.sessions), resetSession),
            Endpoint("POST", "/v1/sessions/{session}/flush", .scope(.sessions), flushSession),

            Endpoint("GET", "/v1/sessions/{session}/cookies", .scope(.sessions), listCookies),
            Endpoint("POST", "/v1/sessions/{session}/cookies", .scope(.sessions), addCookies),
            Endpoint("DELETE", "/v1/sessions/{session}/cookies", .scope(.sessions), deleteCookies),
            Endpoint(
                "GET", "/v1/sessions/{session}/credentials", .scope(.sessions), listCredentials),
            Endpoint("PUT", "/v1/sessions/{session}/credentials", .scope(.sessions), putCredential),
            Endpoint(
                "DELETE", "/v1/sessions/{session}/credentials", .scope(.sessions),
                deleteCredentials),
            Endpoint("GET", "/v1/sessions/{session}/cache", .scope(.sessions), showCache),
            Endpoint("DELETE", "/v1/sessions/{session}/cache", .scope(.sessions), emptyCache),

            Endpoint("POST", "/v1/sessions/{session}/tasks", .scope(.tasks), createTasks),
            Endpoint("GET", "/v1/sessions/{session}/tasks", .scope(.tasks), listTasks),
            Endpoint("GET", "/v1/tasks", .scope(.tasks), listTasks),
            Endpoint(
                "GET", "/v1/tasks/{task}", .scope(.tasks), immediately: showTaskAtHand, showTask),
            Endpoint("PATCH", "/v1/tasks/{task}", .scope(.tasks), changeTask),
            Endpoint("DELETE", "/v1/tasks/{task}", .scope(.tasks), deleteTask),
            Endpoint("POST", "/v1/tasks/{task}/resume", .scope(.tasks), resumeTask),
            Endpoint("POST", "/v1/tasks/{task}/suspend", .scope(.tasks), suspendTask),
            Endpoint("POST", "/v1/tasks/{task}/cancel", .scope(.tasks), cancelTask),
            Endpoint("GET", "/v1/tasks/{task}/content", .scope(.tasks), readContent),
            Endpoint(
                "PUT", "/v1/tasks/{task}/body", .scope(.tasks), bodyPace: .idle(.seconds(60)),
                sendBody),

            Endpoint(
                "POST", "/v1/files", .scope(.tasks), bodyPace: .idle(.seconds(60)), createFile),
            Endpoint("GET", "/v1/files", .scope(.tasks), listFiles),
            Endpoint("GET", "/v1/files/{file}", .scope(.tasks), readFile),
            Endpoint(
                "PATCH", "/v1/files/{file}", .scope(.tasks), bodyPace: .idle(.seconds(60)),
                appendToFile),
            Endpoint("DELETE", "/v1/files/{file}", .scope(.tasks), deleteFile),

            Endpoint(
                "GET", "/v1/sessions/{session}/decisions", .scope(.decisions), listDecisions),
            Endpoint("GET", "/v1/decisions/{decision}", .scope(.decisions), showDecision),
            Endpoint("POST", "/v1/decisions/{decision}", .scope(.decisions), answerDecision),

            Endpoint("POST", "/v1/webhooks", .scope(.webhooks), createWebhook),
            Endpoint("GET", "/v1/webhooks", .scope(.webhooks), listWebhooks),
            Endpoint("GET", "/v1/webhooks/{webhook}", .scope(.webhooks), showWebhook),
            Endpoint("PATCH", "/v1/webhooks/{webhook}", .scope(.webhooks), changeWebhook),
            Endpoint("DELETE", "/v1/webhooks/{webhook}", .scope(.webhooks), deleteWebhook),
            Endpoint(
                "POST", "/v1/webhooks/{webhook}/rotate-secret", .scope(.webhooks),
                rotateWebhookSecret),
            Endpoint("POST", "/v1/webhooks/{webhook}/test", .scope(.webhooks), testWebhook),
            Endpoint("POST", "/v1/webhooks/{webhook}/replay", .scope(.webhooks), replayWebhook),
            Endpoint(
                "GET", "/v1/webhooks/{webhook}/deliveries", .scope(.webhooks), listDeliveries),
            Endpoint(
                "POST", "/v1/webhooks/{webhook}/deliveries/{event}/retry", .scope(.webhooks),
                retryDelivery),

            Endpoint("GET", "/v1/events", .scope(.events), followTenant),
            Endpoint("GET", "/v1/sessions/{session}/events", .scope(.events), followSession),
            Endpoint("GET", "/v1/tasks/{task}/events", .scope(.events), followTask),
        ]
    }

    /// The routes as the front door takes them.
    public func router() throws -> Router {
        try Router(endpoints.map { $0.route(of: self) })
    }
}
