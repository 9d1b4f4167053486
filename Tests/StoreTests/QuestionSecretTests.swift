import Engine
import Foundation
import Records
import Sealing
import Semantics
import Testing

@testable import SQLiteStore

/// Security, §5: what is secret of a question, and of what was answered, is not on the disk in
/// clear.
@Suite struct QuestionSecretTests {
    @Test func `no secret of a question, an answer or a held response is in any file`() async throws
    {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var canaries = Canaries()
            var world = World()
            let session = world.makeSession()
            var task = world.makeTask(in: session)
            var batch = StoreBatch()
            batch.createdTasks = [task]
            batch.sessions = [world.session(session)]
            try await store.commit(batch)
            var states: [TaskRecord] = []
            for dialogue in Self.dialogues(&canaries) {
                task.dialogue = dialogue
                states.append(task)
                batch = StoreBatch()
                batch.changedTasks = [task]
                batch.contents = [(task.id, Array(canaries.next("held body").utf8))]
                try await store.commit(batch)
                #expect(try await store.task(task.id, of: World.alice) == task)
            }
            for question in Self.questions(&canaries) {
                let decision = world.makeDecision(question, of: task)
                batch = StoreBatch()
                batch.decisions = [decision]
                batch.events = [world.event(decision.question, of: task)]
                batch.sessions = [world.session(session)]
                try await store.commit(batch)
                #expect(try await store.decision(decision.id, of: World.alice) == decision)
                let query = EventQuery(
                    stream: .session(session), after: batch.events[0].sequence - 1, limit: 9)
                #expect(try await store.events(query) == batch.events)
            }
            #expect(states.count == 5 && canaries.all.count == 38)
            #expect(try canaries.findings(in: folder).isEmpty)
            // The search finds what lies in clear.
            #expect(try Canaries(all: ["example.com"]).findings(in: folder) == ["example.com"])
            batch = StoreBatch()
            batch.removedTasks = [task.id]
            try await store.commit(batch)
            try store.close()
            #expect(try canaries.findings(in: folder).isEmpty)
        }
    }

    @Test func `every byte of an authentication is sealed`() {
        var world = World()
        let session = world.makeSession()
        var count = 0
        for (_, task) in world.dialogues(in: session)
        where task.dialogue.authentication != TaskAuthentication() {
            var without = task
            without.dialogue.authentication = TaskAuthentication()
            var parts = RecordParts()
            var rest = RecordParts()
            TaskStatus.write(task, to: &parts)
            TaskStatus.write(without, to: &rest)
            let hasOther = without.dialogue != TaskDialogue()
            // That there is a dialogue is two bytes.
            #expect(parts.clear.bytes.count == rest.clear.bytes.count + (hasOther ? 0 : 3))
            #expect(parts.secret.bytes.count > rest.secret.bytes.count)
            if hasOther { #expect(parts.clear.bytes == rest.clear.bytes) }
            count += 1
        }
        #expect(count == 13)
    }

    private static func dialogues(_ canaries: inout Canaries) -> [TaskDialogue] {
        let origin = WebURL.plain.origin
        var password = TaskDialogue()
        var space = ProtectionSpace.plain(.basic, realm: canaries.next("realm"))
        space.host = canaries.next("host")
        password.authentication.server.origin = origin
        password.authentication.server.present(
            .password(user: canaries.next("user"), password: canaries.next("password")), in: space)
        password.authentication.proxy = password.authentication.server
        password.authentication.proxy.present(
            .password(user: canaries.next("proxy user"), password: canaries.next("proxy password")),
            in: space, scope: ProtectionScope(prefixes: [canaries.next("scope")]),
            digest: DigestChallenge(
                realm: canaries.next("Digest realm"), nonce: canaries.next("nonce"),
                opaque: canaries.next("opaque")))
        space.realm = canaries.next("rejected realm")
        password.authentication.proxy.rejected = [space]
        var pem = TaskDialogue()
        pem.authentication.identity = .certificate(
            .pem(certificate: canaries.next("certificate"), key: canaries.next("key")))
        pem.authentication.identityOrigin = origin
        var pkcs12 = TaskDialogue()
        pkcs12.authentication.identity = .certificate(
            .pkcs12(
                bytes: Array(canaries.next("pkcs12").utf8),
                passphrase: canaries.next("passphrase")))
        var held = TaskDialogue()
        held.held = HeldResponse(canaries.response("held"), bodyLength: 9)
        var replaced = TaskDialogue()
        replaced.replacementRequest = canaries.request("replacement")
        return [password, pem, pkcs12, held, replaced]
    }

    private static func questions(_ canaries: inout Canaries) -> [Question] {
        let challenge = Challenge(
            .plain(.basic),
            proposedCredential: ShownCredential(
                user: canaries.next("proposed user"), persistence: .permanent),
            failureResponse: canaries.response("failure"))
        let redirect = canaries.response("redirect")
        let request = canaries.request("redirected")
        let response = canaries.response("asking")
        let cached = canaries.response("cached")
        let delayed = canaries.request("delayed")
        return [
            Question(kind: .taskChallenge) { .didReceiveChallenge(challenge, decision: $0) },
            Question(kind: .redirect) {
                .willPerformHTTPRedirection(redirect, request: request, decision: $0)
            },
            Question(kind: .response) { .didReceiveResponse(response, decision: $0) },
            Question(kind: .cache) { .willCacheResponse(cached, decision: $0) },
            Question(kind: .delayedRequest) { .willBeginDelayedRequest(delayed, decision: $0) },
        ]
    }
}

extension Canaries {
    /// A request with a secret in each place that is for secrets.
    fileprivate mutating func request(_ name: String) -> RequestRecord {
        RequestRecord(
            url: .plain, method: "POST",
            headers: [
                "Authorization": next(name + " authorization"), "Cookie": next(name + " cookie"),
                "X-Key": next(name + " marked"),
            ], sensitiveHeaders: ["x-key"], body: .bytes(Array(next(name + " body").utf8)))
    }

    /// A response that sets a secret cookie.
    fileprivate mutating func response(_ name: String) -> ResponseRecord {
        var response = ResponseRecord.plain
        response.headers.append("Set-Cookie", next(name))
        return response
    }
}
