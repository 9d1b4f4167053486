internal import CPostgres
internal import Engine
internal import Glibc

/// A connection to a server, in libpq's pipeline mode: statements go out without waiting for each
/// other, and only a caller that asks for an answer waits. Used by one thread at a time, which
/// blocks.
///
/// Every statement is prepared once. <https://www.postgresql.org/docs/15/libpq-pipeline-mode.html>
final class Connection {
    /// How many a statement has at least that goes out before the next one is made: libpq's memory
    /// for what waits to go out is never given back.
    private static let largeByteCount = 1 << 20

    /// What an answer is waited for.
    private enum Awaited {
        case preparation, statement, end
    }

    private let handle: OpaquePointer
    /// The names of prepared statements, by their text.
    private var names: [String: String] = [:]
    private var nameCount = 0
    /// Texts that were prepared since the pipeline's last end that went well: of which it is not
    /// known that the server has them.
    private var fresh: [String] = []
    /// What is still to be answered, in its order.
    private var awaited: [Awaited] = []
    /// The first error since the pipeline's last end.
    private var failure: StoreError?
    /// What the first error means for who may try again.
    private(set) var trouble: Trouble?
    /// Whether something was sent since the pipeline's last end.
    private var isOpen = false
    /// How long the server may say nothing while an answer is waited for.
    var patience: Patience
    /// How many bytes the parameters of a statement may have: half of what PostgreSQL takes of a
    /// message, or makes of a row.
    var byteLimit = 512 << 20
    /// How many a statement has, about, that writes many rows.
    var sliceLimit: Int { byteLimit / 32 }

    /// Opens a connection.
    /// - Throws: `away`, in libpq's words, also where the password is wrong.
    init(
        _ address: DatabaseAddress, _ patience: Patience = Patience()
    ) throws(StoreError) {
        self.patience = patience
        handle = try Opening(address: address, patience: patience).open()
        cpostgres_ignore_notices(handle)
        // What a server says in detail may have values in it.
        PQsetErrorVerbosity(handle, PQERRORS_TERSE)
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
            let words = Connection.words(of: handle)
            PQfinish(handle)
            throw .away(words)
        }
    }

    deinit { PQfinish(handle) }

    // MARK: Statements

    /// Sends a statement. What becomes of it is known at the end, or with the answer of a later
    /// one.
    func send(_ sql: String, _ parameters: [Parameter] = []) throws(StoreError) {
        let byteCount = parameters.reduce(0) { $0 + ($1.bytes?.count ?? 0) }
        guard byteCount < byteLimit else {
            throw .failed("A statement has more bytes than PostgreSQL takes.")
        }
        isOpen = true
        let name = try prepare(sql, parameters)
        let isSent = Connection.withPointers(to: parameters) { values, lengths in
            let formats = [Int32](repeating: 1, count: parameters.count)
            return PQsendQueryPrepared(
                handle, name, Int32(parameters.count), values, lengths, formats, 1)
        }
        guard isSent == 1 else { throw connectionLost() }
        awaited.append(.statement)
        guard byteCount >= Self.largeByteCount else { return }
        while try hasToWrite() { try wait(toWrite: true) }
    }

    /// Sends a statement, and waits for its rows.
    ///
    /// - Throws: its error, or that of one that was sent before.
    func rows(_ sql: String, _ parameters: [Parameter] = []) throws(StoreError) -> Rows {
        try send(sql, parameters)
        guard PQsendFlushRequest(handle) == 1 else { throw connectionLost() }
        var rows: Rows?
        while !awaited.isEmpty { rows = try receive() ?? rows }
        if let failure { throw failure }
        guard let rows else { throw .failed("A statement had no answer.") }
        return rows
    }

    /// Sends a statement, and waits for how many rows it has changed.
    func count(_ sql: String, _ parameters: [Parameter] = []) throws(StoreError) -> Int {
        try rows(sql, parameters).changedCount
    }

    /// Begins a transaction of its own, with the characteristics that `BEGIN` takes.
    func begin(_ mode: String) throws(StoreError) {
        try settle()
        try send("BEGIN \(mode)")
    }

    /// Ends what the server takes for one transaction where none was begun: all statements since
    /// the pipeline's last end.
    func settle() throws(StoreError) {
        if isOpen { _ = try end() }
    }

    /// Ends the transaction that `begin` has begun, and waits for the end of all that was
    /// sent.
    ///
    /// - Throws: the first error of any of it; then nothing of it was done, unless the connection
    ///   is lost: then it is not known.
    func commit() throws(StoreError) {
        try send("COMMIT")
        let last = try end()
        guard last?.tag == "COMMIT" else {
            throw .failed("The database has taken a transaction back without a reason.")
        }
    }

    /// Takes back what was begun, after an error. A connection that cannot do that is lost.
    func rollBack() {
        guard trouble != .lost else { return }
        do throws(StoreError) {
            // What has failed in the pipeline has been told already.
            _ = try? end()
            failure = nil
            guard PQtransactionStatus(handle) != PQTRANS_IDLE else { return }
            try send("ROLLBACK")
            _ = try end()
        } catch {
            trouble = .lost
        }
    }

    /// Forgets the last error, for another attempt.
    func startAgain() { trouble = nil }

    /// Ends the pipeline: the server does what was sent, and another error is another matter.
    ///
    /// - Returns: The last answer.
    private func end() throws(StoreError) -> Rows? {
        guard PQpipelineSync(handle) == 1 else { throw connectionLost() }
        awaited.append(.end)
        isOpen = false
        var last: Rows?
        while !awaited.isEmpty { last = try receive() ?? last }
        defer {
            failure = nil
            fresh = []
        }
        guard let failure else { return last }
        for text in fresh { names[text] = nil }
        throw failure
    }

    /// The name of the statement of this text, which is prepared where it was not.
    private func prepare(_ sql: String, _ parameters: [Parameter]) throws(StoreError) -> String {
        if let name = names[sql] { return name }
        nameCount += 1
        let name = "ferry\(nameCount)"
        let types = parameters.map(\.type)
        guard PQsendPrepare(handle, name, sql, Int32(types.count), types) == 1 else {
            throw connectionLost()
        }
        awaited.append(.preparation)
        names[sql] = name
        fresh.append(sql)
        return name
    }

    /// Calls the body with where the parameters' bytes lie; they stay there meanwhile.
    private static func withPointers<Value>(
        to parameters: [Parameter],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int32>) -> Value
    ) -> Value {
        // One block of memory for all of them: bytes of an array stay in their place only while
        // nobody lets go of it, which of several at once is hard to say.
        let lengths = parameters.map { Int32($0.bytes?.count ?? 0) }
        let size = lengths.reduce(0) { $0 + Int($1) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: size + 1) { room in
            var values: [UnsafePointer<CChar>?] = []
            values.reserveCapacity(parameters.count)
            var offset = 0
            for parameter in parameters {
                guard let bytes = parameter.bytes else {
                    values.append(nil)
                    continue
                }
                let place = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(room)[offset...])
                place.copyBytes(from: bytes)
                values.append(UnsafePointer(place.baseAddress?.assumingMemoryBound(to: CChar.self)))
                offset += bytes.count
            }
            return body(values, lengths)
        }
    }

    // MARK: Answers

    /// Waits for the next answer. An error in it is kept for who waits for the rest.
    ///
    /// - Returns: Rows, of a statement that went well.
    /// - Throws: `away` where the connection is lost.
    private func receive() throws(StoreError) -> Rows? {
        guard let result = try result() else { throw connectionLost() }
        let awaited = awaited.removeFirst()
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
            let rows = Rows(result)
            try receiveNothing()
            return awaited == .statement ? rows : nil
        case PGRES_PIPELINE_SYNC: PQclear(result)
        case PGRES_PIPELINE_ABORTED:
            PQclear(result)
            try receiveNothing()
        default:
            defer { PQclear(result) }
            try note(result)
            try receiveNothing()
        }
        return nil
    }

    /// The end of what one statement answers.
    private func receiveNothing() throws(StoreError) {
        while let more = try result() { PQclear(more) }
    }

    private func note(_ result: OpaquePointer) throws(StoreError) {
        guard PQstatus(handle) == CONNECTION_OK, let state = field("C", of: result) else {
            throw connectionLost()
        }
        guard failure == nil else { return }
        failure = StoreError(state: state, words: field("M", of: result) ?? "unknown error")
        trouble = Trouble(state: state)
    }

    /// A part of an error. <https://www.postgresql.org/docs/15/protocol-error-fields.html>
    private func field(_ code: Unicode.Scalar, of result: OpaquePointer) -> String? {
        guard let text = PQresultErrorField(result, CInt(code.value)) else { return nil }
        return String(cString: text)
    }

    private func result() throws(StoreError) -> OpaquePointer? {
        while true {
            let isWriting = try hasToWrite()
            guard isWriting || PQisBusy(handle) != 0 else { return PQgetResult(handle) }
            try wait(toWrite: isWriting)
        }
    }

    /// Whether something has to go out that does not go out at once.
    private func hasToWrite() throws(StoreError) -> Bool {
        let left = PQflush(handle)
        guard left >= 0 else { throw connectionLost() }
        return left > 0
    }

    private func wait(toWrite: Bool) throws(StoreError) {
        let deadline = ContinuousClock.now + patience.answer
        let events = toWrite ? POLLIN | POLLOUT : POLLIN
        guard PQsocket(handle) >= 0 else { throw connectionLost() }
        guard try patience.wait(for: events, on: PQsocket(handle), until: deadline) else {
            trouble = .lost
            throw .away("The database does not answer.")
        }
        guard PQconsumeInput(handle) == 1 else { throw connectionLost() }
    }

    /// Waits until the server tells something that was listened for, or somebody wakes it, or the
    /// store closes. What was told since the last wait ends it at once.
    ///
    /// - Parameters:
    ///   - waker: who may end the wait.
    ///   - deadline: until when.
    /// - Throws: `away` where the connection is lost.
    func awaitNotice(
        or waker: Waker, until deadline: ContinuousClock.Instant
    ) throws(StoreError) {
        while true {
            var isTold = waker.wasWoken()
            guard PQconsumeInput(handle) == 1 else { throw connectionLost() }
            while let notice = PQnotifies(handle) {
                PQfreemem(notice)
                isTold = true
            }
            guard !isTold,
                try patience.wait(for: POLLIN, on: PQsocket(handle), or: waker, until: deadline)
            else { return }
        }
    }

    /// The error of a connection that is of no use any more.
    private func connectionLost() -> StoreError {
        trouble = .lost
        return .away(Connection.words(of: handle))
    }

    /// libpq's words about a connection, on one line.
    static func words(of handle: OpaquePointer) -> String {
        let words = String(cString: PQerrorMessage(handle)).split(whereSeparator: \.isWhitespace)
        return words.isEmpty ? "The connection was lost." : words.joined(separator: " ")
    }
}
