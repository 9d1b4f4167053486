package import Engine
package import Semantics

extension TaskDialogue {
    private enum Field {
        static let authentication: UInt8 = 1
        static let held: UInt8 = 2
        static let becameTask: UInt8 = 3
        static let replacementRequest: UInt8 = 4
        static let hasPassedBeginDate: UInt8 = 5
        static let hasToldOfWaiting: UInt8 = 6
        static let keptAnswer: UInt8 = 7
    }

    /// Writes what was said. Every byte of the authentication is secret.
    ///
    /// `original` is the task's first request, whose body need not be written again.
    package func write(to parts: inout RecordParts, original: RequestRecord) {
        if authentication != TaskAuthentication() {
            parts.secret.put(Field.authentication, record: { authentication.write(to: &$0) })
        }
        if let held { parts.put(Field.held, record: { held.write(to: &$0) }) }
        parts.clear.put(Field.becameTask, becameTask?.rawValue)
        if let replacementRequest {
            parts.put(
                Field.replacementRequest,
                record: { replacementRequest.write(to: &$0, original: original) })
        }
        parts.clear.put(Field.hasPassedBeginDate, hasPassedBeginDate)
        parts.clear.put(Field.hasToldOfWaiting, hasToldOfWaiting)
        if let keptAnswer { parts.put(Field.keptAnswer, record: { keptAnswer.write(to: &$0) }) }
    }

    /// Reads what `write` has written.
    package init(
        clear: RecordReader, secret: RecordReader?, original: RequestRecord
    ) throws(StoreError) {
        self.init()
        var held = RecordHalves()
        var replacementRequest = RecordHalves()
        var keptAnswer = RecordHalves()
        for part in [clear, secret] {
            guard var reader = part else { continue }
            while let field = try reader.next() {
                switch field {
                case Field.authentication:
                    authentication = try TaskAuthentication(try reader.record())
                case Field.held: held.take(try reader.record())
                case Field.becameTask: becameTask = TaskID(rawValue: try reader.int64())
                case Field.replacementRequest: replacementRequest.take(try reader.record())
                case Field.hasPassedBeginDate: hasPassedBeginDate = try reader.bool()
                case Field.hasToldOfWaiting: hasToldOfWaiting = try reader.bool()
                case Field.keptAnswer: keptAnswer.take(try reader.record())
                default: try reader.skip()
                }
            }
        }
        if held.isPresent { self.held = try HeldResponse(held) }
        if replacementRequest.isPresent {
            self.replacementRequest = try RequestRecord(replacementRequest, original: original)
        }
        if keptAnswer.isPresent { self.keptAnswer = try KeptAnswer(keptAnswer) }
    }
}

extension HeldResponse {
    private enum Field {
        static let response: UInt8 = 1
        static let bodyLength: UInt8 = 2
        static let isTruncated: UInt8 = 3
        static let lengthVerified: UInt8 = 4
        static let isDamaged: UInt8 = 5
    }

    fileprivate func write(to parts: inout RecordParts) {
        parts.put(Field.response, record: { response.write(to: &$0, base: "") })
        if bodyLength != 0 { parts.clear.put(Field.bodyLength, bodyLength) }
        parts.clear.put(Field.isTruncated, isTruncated)
        parts.clear.put(Field.lengthVerified, lengthVerified)
        if isDamaged { parts.clear.put(Field.isDamaged, isDamaged) }
    }

    fileprivate init(_ halves: RecordHalves) throws(StoreError) {
        let (clear, secret) = try halves.whole()
        var response = RecordHalves()
        var bodyLength = 0
        var isTruncated = false
        var lengthVerified = false
        var isDamaged = false
        for part in [clear, secret] {
            guard var reader = part else { continue }
            while let field = try reader.next() {
                switch field {
                case Field.response: response.take(try reader.record())
                case Field.bodyLength: bodyLength = try reader.int()
                case Field.isTruncated: isTruncated = try reader.bool()
                case Field.lengthVerified: lengthVerified = try reader.bool()
                case Field.isDamaged: isDamaged = try reader.bool()
                default: try reader.skip()
                }
            }
        }
        guard bodyLength >= 0 else { throw .damagedRecord }
        self.init(
            try ResponseRecord(response), bodyLength: bodyLength, isTruncated: isTruncated,
            isDamaged: isDamaged, lengthVerified: lengthVerified)
    }
}
