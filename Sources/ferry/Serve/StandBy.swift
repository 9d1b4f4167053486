import Diagnostics
import Glibc
import HTTP
import Loop
import PostgresStore
import REST
import Sealing
import TLS

/// A gateway that waits for its turn at a database: it serves once no other one has it. Until then
/// nothing of its data directory is touched, which the two may share.
@LoopActor
final class StandBy {
    /// The port that probes are answered at, resolved once they are.
    private(set) var port: UInt16
    private let settings: ServeSettings
    private let sealer: AESGCMSealer
    private let certificate: ServedCertificate?
    private let wait = DatabaseWait()
    private let thread = FileThreads(count: 1)
    private var door: Server?
    /// Why the door could not be opened.
    private var failure: (any Error)?
    private static let log = Log("serve")

    /// - Throws: what is wrong with the key, or the certificate.
    init(_ settings: ServeSettings) throws {
        self.settings = settings
        port = settings.port
        sealer = AESGCMSealer(key: try StoreKey.find(settings.key).key)
        certificate = try settings.tls.map { files throws(TLSFileError) in
            try ServedCertificate(files)
        }
    }

    /// Waits. SIGTERM and SIGINT end that.
    ///
    /// - Parameter url: of the database.
    /// - Returns: The database, this gateway's from now on; nil where the wait was ended.
    /// - Throws: `Refusal`, or why the door for probes cannot be opened.
    func turn(at url: String) async throws -> GatewayStore? {
        let (sealer, wait) = (sealer, wait)
        let signals = Signals(Signals.ending + [SIGHUP]) { [certificate] signal in
            if signal == SIGHUP { certificate?.readAgain() } else { wait.end() }
        }
        defer { withExtendedLifetime(signals) {} }
        let began = ContinuousClock.now
        let store = try await thread.run { [self] in
            try GatewayStore.inTurn(at: url, sealer, wait) {
                Task { @LoopActor [self] in self.openDoor() }
            }
        }
        if let failure { throw failure }
        guard !wait.isOver else {
            // The end may have come together with the turn.
            try await store?.close()
            return nil
        }
        if store != nil, door != nil {
            StandBy.log.write(
                .notice, "the gateway takes the database over",
                ["waited": .duration(.now - began)])
        }
        return store
    }

    /// Closes the door for probes: who serves now opens its own.
    func close() async { await door?.drain(within: .seconds(1)) }

    private func openDoor() {
        guard door == nil, failure == nil else { return }
        do {
            let door = try StandByDoor.server()
            let address = try door.listen(
                on: .tcp(host: settings.host, port: settings.port), tls: certificate?.tls)
            self.door = door
            if case .tcp(_, let port) = address { self.port = port }
            Serve.tell("Ferry stands by at \(address): another gateway has the database")
            StandBy.log.write(
                .notice, "the gateway stands by: another one has the database",
                [
                    "address": .name("\(address)"),
                    "store": .name(PostgresStore.place(of: settings.store ?? "")),
                ])
        } catch {
            failure = error
            wait.end()
        }
    }
}
