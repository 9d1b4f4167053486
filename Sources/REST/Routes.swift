public import HTTP
internal import Loop
internal import Semantics

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
            Endpoint("GET", "/metrics", .eitherScope(.metrics, .admin), at: .any, metrics),
            Endpoint("GET", "/v1/gateway", .scope(.admin), at: .any, describeGateway),
            Endpoint("PATCH", "/v1/gateway", .scope(.admin), changeGateway),
            Endpoint("GET", "/v1/nodes", .scope(.admin), at: .any, listNodes),
            Endpoint("GET", "/v1/nodes/{node}", .scope(.admin), at: .any, showNode),
            Endpoint("PATCH", "/v1/nodes/{node}", .scope(.admin), at: .any, changeNode),

            Endpoint("POST", "/v1/tenants", .scope(.admin), createTenant),
            Endpoint(
                "GET", "/v1/tenants", .scope(.admin), query: ["limit", "cursor"], listTenants),
            Endpoint("GET", "/v1/tenants/{tenant}", .scope(.admin), showTenant),
            Endpoint("PATCH", "/v1/tenants/{tenant}", .scope(.admin), changeTenant),
            Endpoint("DELETE", "/v1/tenants/{tenant}", .scope(.admin), deleteTenant),
            Endpoint("POST", "/v1/tokens", .scope(.admin), createToken),
            Endpoint(
                "GET", "/v1/tokens", .scope(.admin), query: ["limit", "cursor", "tenant"],
                listTokens),
            Endpoint("GET", "/v1/tokens/{token}", .scope(.admin), showToken),
            Endpoint("DELETE", "/v1/tokens/{token}", .scope(.admin), deleteToken),
            Endpoint(
                "GET", "/v1/usage", .anyToken, query: ["tenant"], at: .ofNamedTenant, showUsage),

            Endpoint(
                "POST", "/v1/browser-session", .anyToken, at: .any, takesBody: false,
                startBrowserSession),
            Endpoint("DELETE", "/v1/browser-session", .anyToken, at: .any, endBrowserSession),

            Endpoint("POST", "/v1/sessions", .scope(.sessions), takesKey: true, createSession),
            Endpoint("GET", "/v1/sessions", .scope(.sessions), query: .sessionList, listSessions),
            Endpoint("GET", "/v1/sessions/{session}", .scope(.sessions), showSession),
            Endpoint("PATCH", "/v1/sessions/{session}", .scope(.sessions), changeSession),
            Endpoint(
                "POST", "/v1/sessions/{session}/invalidate", .scope(.sessions), invalidateSession),
            Endpoint(
                "POST", "/v1/sessions/{session}/reset", .scope(.sessions), takesBody: false,
                resetSession),
            Endpoint(
                "POST", "/v1/sessions/{session}/flush", .scope(.sessions), takesBody: false,
                flushSession),

            Endpoint(
                "GET", "/v1/sessions/{session}/cookies", .scope(.sessions),
                query: ["domain", "path", "name"], listCookies),
            Endpoint("POST", "/v1/sessions/{session}/cookies", .scope(.sessions), addCookies),
            Endpoint(
                "DELETE", "/v1/sessions/{session}/cookies", .scope(.sessions),
                query: ["domain", "path", "name"], deleteCookies),
            Endpoint(
                "GET", "/v1/sessions/{session}/credentials", .scope(.sessions),
                query: .protectionSpace, listCredentials),
            Endpoint("PUT", "/v1/sessions/{session}/credentials", .scope(.sessions), putCredential),
            Endpoint(
                "DELETE", "/v1/sessions/{session}/credentials", .scope(.sessions),
                query: .protectionSpace,
                deleteCredentials),
            Endpoint(
                "GET", "/v1/sessions/{session}/cache", .scope(.sessions), query: ["url"], showCache),
            Endpoint("DELETE", "/v1/sessions/{session}/cache", .scope(.sessions), emptyCache),

            Endpoint(
                "POST", "/v1/sessions/{session}/tasks", .scope(.tasks),
                query: ["answer", "fields"],
                takesKey: true, createTasks),
            Endpoint(
                "GET", "/v1/sessions/{session}/tasks", .scope(.tasks), query: .taskList, listTasks),
            Endpoint("GET", "/v1/tasks", .scope(.tasks), query: .taskList, listTasks),
            Endpoint(
                "GET", "/v1/tasks/{task}", .scope(.tasks), query: ["fields"],
                immediately: showTaskInMemory, showTask),
            Endpoint("PATCH", "/v1/tasks/{task}", .scope(.tasks), query: ["fields"], changeTask),
            Endpoint("DELETE", "/v1/tasks/{task}", .scope(.tasks), deleteTask),
            Endpoint(
                "POST", "/v1/tasks/{task}/resume", .scope(.tasks), query: ["fields"],
                takesBody: false, resumeTask),
            Endpoint(
                "POST", "/v1/tasks/{task}/suspend", .scope(.tasks), query: ["fields"],
                takesBody: false, suspendTask),
            Endpoint(
                "POST", "/v1/tasks/{task}/cancel", .scope(.tasks), query: ["fields"], cancelTask),
            Endpoint(
                "POST", "/v1/tasks/{task}/retry", .scope(.tasks), query: ["fields"],
                takesBody: false,
                takesKey: true, retryTask),
            Endpoint("POST", "/v1/tasks/actions", .scope(.tasks), takesKey: true, actOnTasks),
            Endpoint("GET", "/v1/tasks/{task}/content", .scope(.tasks), readContent),
            Endpoint(
                "PUT", "/v1/tasks/{task}/body", .scope(.tasks), query: ["generation"],
                bodyPace: .idle(.seconds(60)),
                sendBody),

            Endpoint(
                "POST", "/v1/files", .scope(.tasks), takesKey: true, bodyPace: .idle(.seconds(60)),
                createFile),
            Endpoint("GET", "/v1/files", .scope(.tasks), query: ["limit", "cursor"], listFiles),
            Endpoint("GET", "/v1/files/{file}", .scope(.tasks), readFile),
            Endpoint(
                "PATCH", "/v1/files/{file}", .scope(.tasks), bodyPace: .idle(.seconds(60)),
                appendToFile),
            Endpoint("DELETE", "/v1/files/{file}", .scope(.tasks), deleteFile),

            Endpoint(
                "GET", "/v1/sessions/{session}/decisions", .scope(.decisions), listDecisions),
            Endpoint(
                "GET", "/v1/decisions", .scope(.decisions), query: ["limit", "cursor", "state"],
                listTenantDecisions),
            Endpoint("GET", "/v1/decisions/{decision}", .scope(.decisions), showDecision),
            Endpoint("POST", "/v1/decisions/{decision}", .scope(.decisions), answerDecision),

            Endpoint("POST", "/v1/webhooks", .scope(.webhooks), takesKey: true, createWebhook),
            Endpoint(
                "GET", "/v1/webhooks", .scope(.webhooks), query: ["limit", "cursor", "session"],
                listWebhooks),
            Endpoint("GET", "/v1/webhooks/{webhook}", .scope(.webhooks), showWebhook),
            Endpoint("PATCH", "/v1/webhooks/{webhook}", .scope(.webhooks), changeWebhook),
            Endpoint("DELETE", "/v1/webhooks/{webhook}", .scope(.webhooks), deleteWebhook),
            Endpoint(
                "POST", "/v1/webhooks/{webhook}/rotate-secret", .scope(.webhooks), takesBody: false,
                rotateWebhookSecret),
            Endpoint(
                "POST", "/v1/webhooks/{webhook}/test", .scope(.webhooks), takesBody: false,
                testWebhook),
            Endpoint("POST", "/v1/webhooks/{webhook}/replay", .scope(.webhooks), replayWebhook),
            Endpoint(
                "GET", "/v1/webhooks/{webhook}/deliveries", .scope(.webhooks),
                query: ["limit", "cursor", "state"], listDeliveries),
            Endpoint(
                "POST", "/v1/webhooks/{webhook}/deliveries/{event}/retry", .scope(.webhooks),
                takesBody: false, retryDelivery),

            Endpoint("GET", "/v1/events", .scope(.events), query: .eventStream, followTenant),
            Endpoint(
                "GET", "/v1/sessions/{session}/events", .scope(.events), query: .eventStream,
                followSession),
            Endpoint(
                "GET", "/v1/tasks/{task}/events", .scope(.events), query: .eventStream, followTask),
        ]
    }

    /// The routes as the front door takes them.
    public func router() throws -> Router {
        try Router(endpoints.map { $0.route(of: self) })
    }
}

extension QueryNames {
    /// Of lists of tasks.
    fileprivate static let taskList: QueryNames = [
        "limit", "cursor", "state", "type", "group", "order", "q", "host", "createdAfter",
        "createdBefore", "error", "metadata.*", "fields",
    ]
    /// Of the list of sessions.
    fileprivate static let sessionList: QueryNames = [
        "limit", "cursor", "state", "identifier", "order", "q", "metadata.*",
    ]
    /// Of what belongs to protection spaces.
    fileprivate static let protectionSpace: QueryNames = [
        "host", "port", "protocol", "realm", "authenticationMethod", "isProxy", "user",
    ]
    /// Of event streams.
    fileprivate static let eventStream: QueryNames = ["after", "replay"]
}
