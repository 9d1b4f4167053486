internal import Client
internal import Foundation
internal import HTTP
internal import Loop
internal import Sealing
internal import Semantics

/// What a webhook posts to, on this machine; verifies the signatures as Standard Webhooks says.
@LoopActor
final class WebhookReceiver {
    /// What has come.
    struct Message {
        /// `webhook-id`.
        let id: String
        /// As it was posted.
        let body: [UInt8]
        /// Whether one of the signatures is right, and was made in the last five minutes, or the
        /// next ones.
        let isVerified: Bool
    }

    private var secret: WebhookSecret?
    private var signals: Signals?
    private let tell: @LoopActor (Message) throws(ClientError) -> Void
    private var waiting: CheckedContinuation<Void, Never>?
    private var isOver = false
    private var failure: ClientError?
    private var server: Server?

    /// How old a message may be, in seconds.
    private static let tolerance: Int64 = 300
    private static let byteLimit = 1 << 20

    init(_ tell: @escaping @LoopActor (Message) throws(ClientError) -> Void) { self.tell = tell }

    /// Listens on loopback.
    ///
    /// - Parameter port: 0 takes any that is free.
    /// - Returns: where.
    /// - Throws: `badArgument` for a port that cannot be had.
    func listen(port: UInt16) throws(ClientError) -> ListenAddress {
        do {
            let route = Route("POST", "/") { [weak self] request in
                try await self?.take(request) ?? Response(status: 503)
            }
            let server = Server(router: try Router([route])) { error, _ in
                Response(status: (error as? Problem)?.status ?? 500)
            }
            self.server = server
            return try server.listen(on: .tcp(host: "127.0.0.1", port: port))
        } catch {
            throw .badArgument("--port \(port): \(error)")
        }
    }

    /// What messages are signed with from now on; without a secret all are refused.
    func receive(signedWith secret: WebhookSecret?) { self.secret = secret }

    /// From now on these signals end the wait of `close`, also before it begins, and nothing else.
    func heed(_ ending: [CInt]) {
        signals = Signals(ending) { [weak self] _ in self?.endWait() }
    }

    /// Waits for a signal, or until a message cannot be told; then answers what is under way, and
    /// listens no more.
    ///
    /// - Throws: why a message could not be told.
    func close() async throws(ClientError) {
        if !isOver { await withCheckedContinuation { waiting = $0 } }
        await server?.drain(within: .seconds(2))
        if let failure { throw failure }
    }

    private func endWait() {
        isOver = true
        waiting?.resume()
        waiting = nil
    }

    private func take(_ request: Request) async throws -> Response {
        let body = try await request.body.collect(limit: WebhookReceiver.byteLimit)
        let message = Message(
            id: request.header("webhook-id") ?? "", body: body,
            isVerified: isSigned(request, body))
        do throws(ClientError) {
            try tell(message)
        } catch {
            failure = error
            endWait()
        }
        return Response(status: message.isVerified ? 204 : 401)
    }

    private func isSigned(_ request: Request, _ body: [UInt8]) -> Bool {
        guard let secret, let id = request.header("webhook-id"),
            let timestamp = request.header("webhook-timestamp"), let seconds = Int64(timestamp)
        else { return false }
        // Whoever posts may have written any number there.
        let now = Int64(Date().timeIntervalSince1970)
        let tolerance = WebhookReceiver.tolerance
        guard (now - tolerance...now + tolerance).contains(seconds) else { return false }
        let code = SHADigests().authenticationCode(
            of: Array("\(id).\(timestamp).".utf8) + body, key: secret.bytes)
        let expected = WebhookSecret.signature(code)
        let signatures = request.header("webhook-signature")?.split(separator: " ") ?? []
        return signatures.contains { WebhookReceiver.areEqual($0, expected) }
    }

    /// Takes as long for every text of the same length.
    private static func areEqual(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool
    {
        guard left.utf8.count == right.utf8.count else { return false }
        return zip(left.utf8, right.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
