import Diagnostics
import Engine
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
    /// What TLS is spoken with, where it is; the gateway goes on with it when it serves.
    let certificate: ServedCertificate?
    private let wait = DatabaseWait()
    private let thread = FileThreads(count: 1)
    private var door: Server?
    /// Why the door could not be opened.
    private var failure: (any Error)?
    /// End the wait, until the gateway serves.
    private var signals: Signals?
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
        signals = Signals(Signals.ending + [SIGHUP]) { [certificate] signal in
            if signal == SIGHUP { certificate?.readAgain() } else { wait.end() }
        }
        let began = ContinuousClock.now
        let store = try await thread.run { [self] in
            try GatewayStore.inTurn(at: url, sealer, wait) {
                Task { @LoopActor [self] in self.openDoor() }
            }
        }
        if let failure {
            // Whoever waits for the database need not wait for signs of life.
            try? await store?.close()
            throw failure
        }
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

    /// Whether the wait was ended: then nothing is served.
    var isOver: Bool { wait.isOver }

    /// Somebody else listens to signals from now on.
    func letGoOfSignals() { signals = nil }

    // MARK: After the turn

    /// The data directory, as soon as no other gateway has it: one that shares it, and that has
    /// lost the database because it hangs, has it until it is ended.
    ///
    /// - Returns: nil where the wait was ended.
    /// - Throws: `Refusal` for a folder that cannot be used.
    func folder(_ path: String) async throws -> DataFolder? {
        var isTold = false
        while !wait.isOver {
            do {
                return try DataFolder(path)
            } catch let refusal as Refusal where refusal.code == DataFolder.takenCode {
                if !isTold {
                    StandBy.log.write(
                        .warning,
                        "the gateway waits for its data directory: another process has it",
                        ["dataDirectory": .name(DataFolder.absolute(path))])
                }
                isTold = true
                await LoopActor.nextTurn(after: .milliseconds(100))
            }
        }
        return nil
    }

    /// What asks the database, or the place of the contents: again for as long as that cannot be
    /// reached, unless the wait was ended.
    func untilReached<Value>(
        _ body: @LoopActor () async throws -> Value
    ) async throws -> Value {
        var isTold = false
        while true {
            do {
                return try await body()
            } catch {
                guard StandBy.isAway(error), !wait.isOver else { throw error }
                if !isTold {
                    StandBy.log.write(
                        .warning, "the gateway waits for what it needs and does not reach",
                        ["error": .words("\(error)")])
                }
                isTold = true
                await LoopActor.nextTurn(after: .milliseconds(500))
            }
        }
    }

    /// Whether it may go away by itself.
    private static func isAway(_ error: any Error) -> Bool {
        switch error {
        case StoreError.away: true
        case let error as UnusablePlace: error.isAway
        default: false
        }
    }

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
