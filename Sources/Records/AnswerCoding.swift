package import Engine
package import Semantics

extension KeptAnswer {
    private enum Field {
        static let eventKind: UInt8 = 1
        static let question: UInt8 = 2
        static let disposition: UInt8 = 3
        static let credential: UInt8 = 4
        static let request: UInt8 = 5
        static let storagePolicy: UInt8 = 6
        static let hasUserInfo: UInt8 = 7
        static let userInfo: UInt8 = 8
    }

    /// What is written of an answer's kind and disposition; never changed.
    private enum Disposition: UInt8 {
        case useCredential = 1
        case performDefaultHandling = 2
        case cancelAuthenticationChallenge = 3
        case rejectProtectionSpace = 4
        case follow = 5
        case stop = 6
        case allowResponse = 7
        case cancelResponse = 8
        case becomeDownload = 9
        case store = 10
        case refuse = 11
        case continueDelayed = 12
        case useNewRequest = 13
        case cancelDelayed = 14
        case redirectByDefault = 15
    }

    /// Writes the question and its answer. A credential, and what a client keeps beside a response,
    /// is secret.
    package func write(to parts: inout RecordParts) {
        parts.clear.put(Field.eventKind, Int(EventKind(question).rawValue))
        parts.put(Field.question, record: { EventCoding.write(question, to: &$0) })
        parts.clear.put(Field.disposition, Int(disposition.rawValue))
        switch answer {
        case .challenge(.useCredential(let credential?)):
            parts.secret.put(Field.credential, record: { credential.write(to: &$0) })
        case .redirect(.follow(let request?)), .delayedRequest(.useNewRequest(let request)):
            parts.put(Field.request, record: { request.write(to: &$0) })
        case .cache(.store(let policy, let userInfo)):
            parts.clear.put(Field.storagePolicy, policy?.rawValue)
            parts.clear.put(Field.hasUserInfo, userInfo != nil)
            for (name, value) in userInfo ?? [:] {
                parts.secret.put(
                    Field.userInfo,
                    record: { writer in
                        writer.text(name)
                        writer.text(value)
                    })
            }
        default: break
        }
    }

    private var disposition: Disposition {
        switch answer {
        case .challenge(.useCredential): .useCredential
        case .challenge(.performDefaultHandling): .performDefaultHandling
        case .challenge(.cancelAuthenticationChallenge): .cancelAuthenticationChallenge
        case .challenge(.rejectProtectionSpace): .rejectProtectionSpace
        case .redirect(.follow): .follow
        case .redirect(.stop): .stop
        case .redirect(.byDefault): .redirectByDefault
        case .response(.allow): .allowResponse
        case .response(.cancel): .cancelResponse
        case .response(.becomeDownload): .becomeDownload
        case .cache(.store): .store
        case .cache(.refuse): .refuse
        case .delayedRequest(.continue): .continueDelayed
        case .delayedRequest(.useNewRequest): .useNewRequest
        case .delayedRequest(.cancel): .cancelDelayed
        }
    }

    /// Reads what `write` has written.
    package init(_ halves: RecordHalves) throws(StoreError) {
        let (clear, secret) = try halves.whole()
        var kind: EventKind?
        var payload: [UInt8] = []
        var disposition: Disposition?
        var credential: Credential?
        var request = RecordHalves()
        var policy: CacheStoragePolicy?
        var userInfo: [String: String]?
        for part in [clear, secret] {
            guard var reader = part else { continue }
            while let field = try reader.next() {
                switch field {
                case Field.eventKind:
                    kind = UInt8(exactly: try reader.int()).flatMap(EventKind.init)
                case Field.question: payload += try reader.record().rest
                case Field.disposition:
                    disposition = UInt8(exactly: try reader.int()).flatMap(Disposition.init)
                case Field.credential: credential = try Credential(try reader.record())
                case Field.request: request.take(try reader.record())
                case Field.storagePolicy: policy = try reader.raw()
                case Field.hasUserInfo:
                    if try reader.bool() { userInfo = [:] }
                case Field.userInfo:
                    var packed = try reader.record()
                    let name = try packed.text()
                    userInfo?[name] = try packed.text()
                default: try reader.skip()
                }
            }
        }
        guard let kind, let disposition else { throw .damagedRecord }
        let other = request.isPresent ? try RequestRecord(request) : nil
        let answer: DecisionAnswer
        switch disposition {
        case .useCredential: answer = .challenge(.useCredential(credential))
        case .performDefaultHandling: answer = .challenge(.performDefaultHandling)
        case .cancelAuthenticationChallenge:
            answer = .challenge(.cancelAuthenticationChallenge)
        case .rejectProtectionSpace: answer = .challenge(.rejectProtectionSpace)
        case .follow: answer = .redirect(.follow(other))
        case .stop: answer = .redirect(.stop)
        case .redirectByDefault: answer = .redirect(.byDefault)
        case .allowResponse: answer = .response(.allow)
        case .cancelResponse: answer = .response(.cancel)
        case .becomeDownload: answer = .response(.becomeDownload)
        case .store: answer = .cache(.store(storagePolicy: policy, userInfo: userInfo))
        case .refuse: answer = .cache(.refuse)
        case .continueDelayed: answer = .delayedRequest(.continue)
        case .useNewRequest:
            guard let other else { throw .damagedRecord }
            answer = .delayedRequest(.useNewRequest(other))
        case .cancelDelayed: answer = .delayedRequest(.cancel)
        }
        let question = try EventCoding.body(kind, payload: payload)
        guard let asked = question.decision?.kind, answer.answers(asked) else {
            throw .damagedRecord
        }
        self.init(answer, to: question)
    }
}
