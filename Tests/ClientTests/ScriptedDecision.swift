import JSON
import Synchronization
import TestSupport

@testable import Client

/// A question that a task of a fake gateway asks, and the answers to it.
final class ScriptedDecision: Sendable {
    let id: String
    let kind: String
    let event: String
    let task: String
    /// The members of the event's data that tell what is asked.
    private let members: String
    private let state = Mutex((answers: [String](), isOver: false, refusals: [String]()))
    /// Opens with the first answer that counts, and when somebody else has answered.
    let isOver = Gate()

    init(_ id: String, kind: String, event: String, task: String = "tsk_1", members: String) {
        (self.id, self.kind, self.event, self.task) = (id, kind, event, task)
        self.members = members
    }

    /// Who the client is.
    static func password(
        _ id: String = "dec_1", realm: String = #""Staff""#, host: String = "host", port: Int = 80,
        method: String = "NSURLAuthenticationMethodHTTPBasic", isProxy: Bool = false,
        isSecure: Bool = true, failures: Int = 0, task: String = "tsk_1"
    ) -> ScriptedDecision {
        challenge(
            id, "task.didReceiveChallenge", task, failures: failures, response: #"{"status":401}"#,
            space: """
                "host":"\(host)","port":\(port),"protocol":"http","realm":\(realm),\
                "authenticationMethod":"\(method)","isProxy":\(isProxy),\
                "receivesCredentialSecurely":\(isSecure),"distinguishedNames":[],"serverTrust":null
                """)
    }

    /// Who the server is: a chain of one certificate, with what is wrong with it.
    static func trust(
        _ id: String = "dec_1", failures: [String] = ["certificate has expired"],
        subject: String = "CN=host"
    ) -> ScriptedDecision {
        let wrong = failures.map { #"{"code":10,"message":"\#($0)","depth":0}"# }
        return challenge(
            id, "session.didReceiveChallenge", "tsk_1", failures: 0, response: "null",
            space: """
                "host":"host","port":443,"protocol":"https","realm":null,"isProxy":false,\
                "authenticationMethod":"NSURLAuthenticationMethodServerTrust",\
                "receivesCredentialSecurely":true,"distinguishedNames":[],"serverTrust":\
                {"certificates":[{"pem":"x","subject":"\(subject)","issuer":"CN=Test CA",\
                "serialNumber":"01","notBefore":"2024-01-01T00:00:00.000Z",\
                "notAfter":"2025-01-01T12:30:00.000Z","subjectAlternativeNames":["host","www.host"],\
                "fingerprint":"\(fingerprint)"}],"evaluation":\
                {"trusted":\(failures.isEmpty),"failures":[\(wrong.joined(separator: ","))]}}
                """)
    }

    /// Of 32 bytes that count up from 1.
    static let fingerprint = "sha-256=:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=:"

    /// The client's certificate.
    static func certificate(
        _ id: String = "dec_1", host: String = "host", port: Int = 80
    ) -> ScriptedDecision {
        challenge(
            id, "session.didReceiveChallenge", "tsk_1", failures: 0, response: "null",
            space: """
                "host":"\(host)","port":\(port),"protocol":"https","realm":null,"isProxy":false,\
                "authenticationMethod":"NSURLAuthenticationMethodClientCertificate",\
                "receivesCredentialSecurely":true,"distinguishedNames":["CN=CA"],"serverTrust":null
                """)
    }

    private static func challenge(
        _ id: String, _ event: String, _ task: String, failures: Int, response: String,
        space: String
    ) -> ScriptedDecision {
        ScriptedDecision(
            id, kind: "challenge", event: event, task: task,
            members: """
                "challenge":{"protectionSpace":{\(space)},"previousFailureCount":\(failures),\
                "proposedCredential":null,"failureResponse":\(response)}
                """)
    }

    /// Whether to follow.
    static func redirect(to url: String, _ id: String = "dec_1") -> ScriptedDecision {
        ScriptedDecision(
            id, kind: "redirect", event: "task.willPerformHTTPRedirection",
            members: #""response":{"status":302},"request":{"url":"\#(url)","method":"GET"}"#)
    }

    /// Refuses the next answers with such problems.
    func refuse(_ problems: [String]) {
        state.withLock { $0.refusals = problems }
    }

    /// Lets somebody else answer it.
    func endElsewhere() {
        state.withLock { $0.isOver = true }
        isOver.open()
    }

    /// The answers that came, refused ones too.
    var answers: [JSONValue] {
        get throws { try state.withLock(\.answers).map { try JSONValue(parsing: Array($0.utf8)) } }
    }

    /// The event's data.
    var data: String {
        """
        {"task":"\(task)","session":"ses_own","at":"2026-01-01T00:00:00.000Z",\(members),"decision":\
        {"id":"\(id)","kind":"\(kind)","deadline":"2026-01-01T01:00:00.000Z"}}
        """
    }

    /// The decision as the gateway shows it.
    var json: String {
        let isOver = state.withLock(\.isOver)
        return """
            {"id":"\(id)","kind":"\(kind)","state":"\(isOver ? "answered" : "pending")",\
            "session":"ses_own","task":"\(task)","createdAt":"2026-01-01T00:00:00.000Z",\
            "deadline":"2026-01-01T01:00:00.000Z","event":\(data)}
            """
    }

    /// Answers requests for it.
    func serve(on origin: ScriptedOrigin) {
        origin.on("/v1/decisions/\(id)") { [weak self] exchange in
            guard let self else { return }
            guard exchange.request.method == "POST" else {
                return try exchange.answer(200, [:], json)
            }
            let body = String(decoding: try exchange.readWholeBody(), as: UTF8.self)
            let (problem, isLate) = state.withLock { state in
                state.answers.append(body)
                let problem = state.refusals.isEmpty ? nil : state.refusals.removeFirst()
                let isLate = state.isOver
                if problem == nil { state.isOver = true }
                return (problem, isLate)
            }
            if isLate { return try exchange.answer(409, [:], #"{"code":"decision-answered"}"#) }
            if let problem {
                return try exchange.answer(
                    422, [:], #"{"status":422,"code":"\#(problem)","detail":"Not usable."}"#)
            }
            try exchange.answer(204)
            isOver.open()
        }
    }
}

extension FakeGateway {
    static let ownCreation = "/v1/sessions/ses_own/tasks"

    /// Serves a session of the command's own, and these questions.
    func serveOwnSession(_ decisions: [ScriptedDecision] = []) {
        origin.on("/v1/sessions") { exchange in
            try exchange.readWholeBody()
            try exchange.answer(201, ["Location": "/v1/sessions/ses_own"], #"{"id":"ses_own"}"#)
        }
        origin.on(Self.ownCreation) { [task, second] exchange in
            try exchange.readWholeBody()
            try exchange.answer(201, [:], (exchange.request.attempt == 1 ? task : second).json)
        }
        origin.on("/v1/sessions/ses_own/invalidate") { exchange in
            try exchange.readWholeBody()
            try exchange.answer(202)
        }
        for decision in decisions { decision.serve(on: origin) }
    }

    /// How the command's own session was ended; empty while it was not.
    var endings: [String] {
        requests("POST", "/v1/sessions/ses_own/invalidate").map {
            String(decoding: $0.body, as: UTF8.self)
        }
    }

    /// The order of the command's own session.
    func sessionOrder() throws -> JSONValue? {
        try requests("POST", "/v1/sessions").first.map { try JSONValue(parsing: $0.body) }
    }

    /// Lets the task ask one question after the other and then end with the content, or with
    /// another status than 200.
    func onQuestions(
        _ decisions: [ScriptedDecision], _ task: ScriptedTask? = nil, status: Int = 200,
        length: Int = 5
    ) {
        let task = task ?? self.task
        onEvents("/v1/tasks/\(task.id)") { exchange in
            try exchange.openStream()
            for (index, decision) in decisions.enumerated() {
                try exchange.ask(decision, index + 2)
            }
            try exchange.response(status, length: length, id: "1.90")
            task.update {
                $0.state = "completed"
                $0.status = status
                $0.length = length
            }
            try exchange.complete(id: "1.91")
        }
        onContent("/v1/tasks/\(task.id)") { exchange in
            try exchange.head(200, ["Content-Length": "\(length)"])
            try exchange.patternBody(count: length)
        }
    }
}

extension TestSupport.Exchange {
    /// Sends the event that asks, and waits for the end of the question.
    func ask(_ decision: ScriptedDecision, _ number: Int = 2) throws {
        try chunk("id: 1.\(number)\nevent: \(decision.event)\ndata: \(decision.data)\n\n")
        try stall(until: decision.isOver)
    }
}
