internal import Engine
internal import HTTP
internal import Loop
internal import RawStructuredFieldValues

/// The field that makes a request create once, however often it is sent (R-10,
/// draft-ietf-httpapi-idempotency-key-header).
enum IdempotencyKey {
    /// What a replay is told by.
    static let replayed: HeaderFields = ["Idempotency-Replayed": "true"]

    /// Reads a value: a string of RFC 9651 §3.3.3, or the key as it is. The same key in both forms
    /// is the same key.
    ///
    /// - Returns: 1…255 visible ASCII characters, or nil where the value is none.
    static func key(in value: String) -> String? {
        let key = value.hasPrefix("\"") ? string(value) : bare(value)
        guard let key, (1...255).contains(key.utf8.count),
            key.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return key
    }

    /// A string in quotes, without what may follow one in a structured field.
    private static func string(_ value: String) -> String? {
        var parser = StructuredFieldValueParser(Array(value.utf8))
        guard let item = try? parser.parseItemFieldValue(), item.rfc9651Parameters.isEmpty,
            case .string(let text) = item.rfc9651BareItem
        else { return nil }
        return text
    }

    /// As many clients send it; what would end it in a structured field is refused.
    private static func bare(_ value: String) -> String? {
        value.contains { "\"\\,;".contains($0) } ? nil : value
    }
}

extension Call {
    /// Performs what the request asks to create, unless it has been done for its `Idempotency-Key`.
    ///
    /// A request without the field always creates.
    /// - Parameters:
    ///   - body: what beside method, path and query makes it the same request.
    ///   - element: which of several creations of the request it is, each having been created once;
    ///     nil for the only one.
    ///   - gateway: keeps the keys.
    ///   - create: see `CreationLedger.once`.
    /// - Returns: what was created now, or what an earlier request has created.
    /// - Throws: 422 for a field that is wrong, or a key of another request; what `create` throws.
    func createOnce<Created>(
        _ body: [UInt8], element: String? = nil, at gateway: Gateway,
        _ create: @LoopActor (CreationTicket?) async throws -> Created
    ) async throws -> Creation<Created> {
        guard let key = try idempotencyKey() else {
            return .new(try await create(nil))
        }
        let fingerprint = gateway.creations.fingerprint(
            of: Array(request.method.utf8), Array(request.path.utf8),
            Array((request.rawQuery ?? "").utf8), body)
        return try await gateway.creations.once(
            // No client's key has a space in it.
            CreationRequest(
                key: element.map { "\(key) \($0)" } ?? key, fingerprint: fingerprint), of: tenant,
            create)
    }

    /// What an earlier request with the same key has created, as it is now; the kind is named where
    /// it is gone.
    ///
    /// - Throws: 410 where `read` throws `noSuchTask` or the like.
    func earlier<Created>(
        _ kind: String, _ read: @LoopActor () async throws(GatewayError) -> Created
    ) async throws(Problem) -> Created {
        do throws(GatewayError) {
            return try await read()
        } catch .noSuchTask, .noSuchSession, .noSuchFile, .noSuchWebhook {
            throw ProblemCode.creationForgotten.problem(
                "The \(kind) that the first request with this Idempotency-Key has created is gone.")
        } catch {
            throw Problem(error)
        }
    }

    /// Refuses the field where it has nothing done once: a client that sends one counts on it.
    static func refuseIdempotencyKey(of request: Request) throws(Problem) {
        guard request.headers.values(of: "idempotency-key").isEmpty else {
            throw ProblemCode.invalidHeader.problem(
                "This takes no Idempotency-Key: sent again, it is done again.")
        }
    }

    /// The request's key; nil without one.
    func idempotencyKey() throws(Problem) -> String? {
        let values = request.headers.values(of: "idempotency-key")
        if values.isEmpty { return nil }
        guard values.count == 1, let key = IdempotencyKey.key(in: values[0]) else {
            throw ProblemCode.invalidValue.problem(
                "Idempotency-Key must be given once, with 1 to 255 visible ASCII characters.")
        }
        return key
    }
}
