import Client
import Curl
import Diagnostics
import Engine
import Foundation
import Glibc
import HTTP
import Loop
import PSL
import REST
import SQLiteStore
import Sealing
import Semantics

/// A gateway from its start to its end.
@LoopActor
struct GatewayProcess {
    private let settings: ServeSettings
    private let environment: [String: String]
    private let gateway: Engine.Gateway
    private let service: Service
    private let server: Server
    private let store: DurableStore
    private let folder: DataFolder
    private let key: StoreKey
    private let digests: SHADigests
    /// Held to the end of the process: their release gives back the defaults, and a second signal
    /// would then kill a gateway that is still ending.
    private static var signals: Signals?
    private static let log = Log("serve")

    /// Runs a gateway until a signal ends it.
    /// - Returns: the exit code: 0, or one of <sysexits.h> with the reason on standard error.
    static func run(_ settings: ServeSettings, environment: [String: String]) async -> Int32 {
        Signals.ignoreBrokenPipes()
        raiseFileLimit()
        do {
            let folder = try DataFolder(settings.dataDirectory)
            let process = try await GatewayProcess(settings, folder, environment)
            return try await process.serve()
        } catch {
            let refusal = Refusal(error, in: settings.dataDirectory)
            return Serve.say(refusal.description, code: refusal.code)
        }
    }

    private init(
        _ settings: ServeSettings, _ folder: DataFolder, _ environment: [String: String]
    ) async throws {
        self.settings = settings
        self.environment = environment
        // First of all: it takes what would open other doors out of the environment.
        let transport = CurlTransport(GatewayProcess.curlSettings(settings))
        let digests = SHADigests()
        let content = folder.contents
        try folder.refuseWithoutDatabase()
        key = try StoreKey.find(settings.key, in: folder)
        let sealer = AESGCMSealer(key: key.key)
        self.folder = folder
        self.digests = digests
        let tokens = try GatewayProcess.tokens(settings, folder, environment, digests)
        let files = FileThreads(count: 4)
        let reserve = ReserveFile(at: folder.path(DataFolder.reserveName), files: files)
        let store = try await GatewayProcess.openStore(in: folder, sealer, reserve)
        let contents = try await store.load()
        try await folder.refuseWithoutContents(of: store)
        try content.prepare()
        self.store = store
        var parts = GatewayParts(
            store: store, transport: transport, digests: digests, sealer: sealer,
            publicSuffixes: try LibPSL(), files: files, folder: content)
        parts.reserve = reserve
        if !settings.folders.isEmpty { parts.saveDownloads(in: settings.folders) }
        parts.connectivity = NetworkWatch()
        parts.ticketHosts = settings.negotiateHosts
        gateway = Engine.Gateway(
            parts, contents: contents, limits: GatewayProcess.limits(settings))
        var options = Service.Options(
            tokens: tokens, hosts: HostRule(allowing: settings.allowedHosts + [settings.host]),
            isBehindTLSProxy: settings.isBehindTLSProxy, version: Ferry.release)
        options.commit = Ferry.commit
        options.machine = ThisMachine(dataDirectory: folder.root)
        let service = Service(gateway: gateway, transport: transport, options: options)
        self.service = service
        server = Server(
            router: try service.router(), limits: GatewayProcess.doorLimits(),
            checks: { service.check($0) },
            crossOrigin: CrossOrigin(allowing: settings.allowedOrigins),
            failure: { error, _ in service.answer(to: error) })
        service.server = server
    }

    /// Opens the database, on a full disk with room of the reserve.
    private static func openStore(
        in folder: DataFolder, _ sealer: AESGCMSealer, _ reserve: ReserveFile
    ) async throws -> DurableStore {
        while true {
            do throws(StoreError) {
                return try DurableStore(folder: folder.root, sealer: sealer)
            } catch {
                guard error == .full, await reserve.release() else { throw error }
            }
        }
    }

    private func serve() async throws -> Int32 {
        let ending = Ending()
        GatewayProcess.signals = Signals(Signals.ending + [SIGHUP]) { signal in
            if signal == SIGHUP { return reload() }
            GatewayProcess.log.write(
                .notice, "the gateway stops",
                ["signal": .name(signal == SIGINT ? "SIGINT" : "SIGTERM")])
            ending.end(with: 0)
        }
        gateway.onStoreFailure = { _ in ending.end(with: 74) }
        var addresses = [try server.listen(on: .tcp(host: settings.host, port: settings.port))]
        if let path = settings.unixSocket {
            addresses.append(try server.listen(on: .unix(path: path)))
        }
        await gateway.start()
        service.isReady = true
        if let path = settings.userLock {
            try UserLock.waitUntilFree(path) {
                Task { @LoopActor in ending.end(with: 0) }
            }
        }
        try announce(addresses)

        let code = await ending.code()
        let began = ContinuousClock.now
        service.isReady = false
        DiscoveryFile.remove(environment: environment)
        if code != 0 { return code }  // the store is broken: nothing more may be promised
        gateway.endWaits()
        await server.drain(within: .seconds(10))
        let interrupted = await gateway.stop()
        try store.close()
        GatewayProcess.log.write(
            .notice, "the gateway has stopped",
            ["duration": .duration(.now - began), "interrupted": .number(interrupted)])
        return 0
    }

    /// Says where the gateway is, for people and for the commands on this machine.
    private func announce(_ addresses: [ListenAddress]) throws {
        for address in addresses {
            Serve.tell("Ferry listens on \(GatewayProcess.url(of: address))")
        }
        // Whoever has started a private gateway waits for no more than that.
        guard settings.userLock == nil else { return }
        if environment["FERRY_TOKEN"] == nil {
            Serve.tell("The token is in \(settings.dataDirectory)/token")
        }
        if let path = settings.metricsTokenFile {
            Serve.tell("The token for /metrics is in \(path)")
        }
        tellCommands(of: addresses[0], try folder.token(environment: environment))
        logStart(addresses)
    }

    private func logStart(_ addresses: [ListenAddress]) {
        let places = addresses.map { GatewayProcess.url(of: $0) }.joined(separator: ",")
        let destinations = settings.allowedDestinations.map(\.description).joined(separator: ",")
        GatewayProcess.log.write(
            .notice, "the gateway has started",
            [
                "version": .name(Ferry.release), "commit": .name(Ferry.commit),
                "address": .name(places), "dataDirectory": .name(folder.root),
                "behindTlsProxy": .name(settings.isBehindTLSProxy ? "true" : "false"),
                "allowHost": .name(settings.allowedHosts.joined(separator: ",")),
                "allowDestination": .name(destinations),
                "logLevel": .name(settings.logLevel.rawValue),
                "descriptors": .number(GatewayProcess.descriptorCount()),
            ])
    }

    private func tellCommands(of address: ListenAddress, _ token: AccessToken) {
        do {
            _ = try DiscoveryFile(gateway: GatewayProcess.url(of: address), token: token.text)
                .write(environment: environment)
        } catch {
            Serve.tell("Commands on this machine need --gateway and --token-file: \(error)")
        }
    }

    /// The tokens that there are at the moment; their files are made where they are missing.
    private static func tokens(
        _ settings: ServeSettings, _ folder: DataFolder, _ environment: [String: String],
        _ digests: SHADigests
    ) throws(Refusal) -> TokenTable {
        let token = try folder.token(environment: environment)
        var tokens = TokenTable(digests: digests)
        if let path = settings.metricsTokenFile {
            let monitor = try TokenFile(path: path).token()
            guard monitor.text != token.text else {
                throw Refusal(
                    description: "\(path) has the operator's token: give /metrics one of its own.",
                    code: 78)
            }
            tokens.add(monitor, for: .monitor)
        }
        tokens.add(token, for: .operator)
        return tokens
    }

    /// SIGHUP: the files of tokens are read again, and made again where they have been removed; the
    /// key's file is looked at, for the next start. The log is standard error, which is not the gateway's
    /// to open again. What else a gateway was started with stays as it is to its end.
    private func reload() {
        readToken()
        do {
            try key.check()
        } catch {
            GatewayProcess.log.write(
                .error, "SIGHUP: the next start will fail for the key: put it back before",
                ["error": .words("\(error)")])
        }
    }

    private func readToken() {
        do {
            service.tokens = try GatewayProcess.tokens(settings, folder, environment, digests)
            let token = try folder.token(environment: environment)
            if let address = server.addresses.first, settings.userLock == nil {
                tellCommands(of: address, token)
            }
            GatewayProcess.log.write(.notice, "SIGHUP: the token was read again")
        } catch {
            GatewayProcess.log.write(
                .error, "SIGHUP: the token stays as it was", ["error": .words("\(error)")])
        }
    }

    /// The address as the commands take it; one that means every interface is reached by loopback.
    private static func url(of address: ListenAddress) -> String {
        switch address {
        case .unix(let path): "unix:\(path)"
        case .tcp(let host, let port):
            switch host {
            case "0.0.0.0": "http://127.0.0.1:\(port)"
            case "::": "http://[::1]:\(port)"
            default: host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
            }
        }
    }

    private static func curlSettings(_ settings: ServeSettings) -> CurlSettings {
        var curl = CurlSettings(
            egress: EgressPolicy(
                allowed: settings.allowedDestinations, ownAddresses: MachineAddresses.all()),
            userAgent: "ferry/\(Ferry.release)",
            trustedCertificates: settings.trustedCertificates)
        curl.descriptors = DescriptorShares(of: descriptorCount()).origins
        return curl
    }

    private static func limits(_ settings: ServeSettings) -> GatewayLimits {
        var limits = GatewayLimits()
        limits.quietHours = settings.quietHours
        limits.discretionaryAttempts = settings.discretionaryAttempts
        limits.backgroundTaskRetention = .seconds(settings.backgroundRetention * 86_400)
        let shares = DescriptorShares(of: descriptorCount())
        limits.attempts = shares.attempts
        limits.firstAttemptCost = shares.firstAttemptCost
        return limits
    }

    private static func doorLimits() -> ServerLimits {
        var limits = ServerLimits()
        limits.descriptors = DescriptorShares(of: descriptorCount()).connections
        return limits
    }

    /// How many descriptors the process may have.
    private static func descriptorCount() -> Int {
        var files = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        return getrlimit(resource, &files) == 0 ? Int(clamping: files.rlim_cur) : 1024
    }

    private static func raiseFileLimit() {
        var files = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &files) == 0 else { return }
        files.rlim_cur = files.rlim_max
        _ = setrlimit(resource, &files)
    }
}

/// Why the process ends, once it does.
@LoopActor
private final class Ending {
    private var result: Int32?
    private var waiter: CheckedContinuation<Int32, Never>?

    func end(with code: Int32) {
        guard result == nil else { return }
        result = code
        waiter?.resume(returning: code)
        waiter = nil
    }

    func code() async -> Int32 {
        if let result { return result }
        return await withCheckedContinuation { waiter = $0 }
    }
}
