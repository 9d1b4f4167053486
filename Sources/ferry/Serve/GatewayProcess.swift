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
import TLS

/// A gateway from its start to its end.
@LoopActor
struct GatewayProcess {
    private let settings: ServeSettings
    private let environment: [String: String]
    private let gateway: Engine.Gateway
    private let service: Service
    private let server: Server
    private let store: GatewayStore
    private let folder: DataFolder
    private let key: StoreKey
    private let digests: SHADigests
    private let audit: AuditFile?
    /// What TLS is spoken with, where it is.
    private let certificate: ServedCertificate?
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
            var settings = settings
            var standBy: StandBy?
            var store: GatewayStore?
            if settings.standsBy, let url = settings.store {
                let waiting = try StandBy(settings)
                guard let turn = try await waiting.turn(at: url) else { return 0 }
                (standBy, store, settings.port) = (waiting, turn, waiting.port)
            }
            do {
                let found =
                    if let standBy { try await standBy.folder(settings.dataDirectory) } else {
                        try DataFolder(settings.dataDirectory)
                    }
                if let folder = found {
                    let process = try await GatewayProcess(
                        settings, folder, environment, store, standBy)
                    await standBy?.close()
                    if standBy?.isOver != true { return try await process.serve(after: standBy) }
                }
                try await store?.close()
                return 0
            } catch {
                // Whoever waits for the database need not wait for signs of life.
                try? await store?.close()
                if standBy?.isOver == true { return 0 }
                throw error
            }
        } catch {
            let refusal = Refusal(error, in: settings.dataDirectory)
            return Serve.say(refusal.description, code: refusal.code)
        }
    }

    private init(
        _ settings: ServeSettings, _ folder: DataFolder, _ environment: [String: String],
        _ opened: GatewayStore?, _ standBy: StandBy?
    ) async throws {
        self.settings = settings
        self.environment = environment
        // First of all: it takes what would open other doors out of the environment (X-5).
        let transport = CurlTransport(GatewayProcess.curlSettings(settings))
        // Before anything is touched: a mistake in it is the operator's most likely one.
        // One that has stood by has read it, and goes on looking at its files.
        if let standBy {
            certificate = standBy.certificate
        } else {
            certificate = try settings.tls.map { files throws(TLSFileError) in
                try ServedCertificate(files)
            }
        }
        let digests = SHADigests()
        let content = folder.contents
        if settings.contents == nil {
            try folder.refuseContentsElsewhere { "start the gateway with --contents \($0)." }
        }
        if settings.store == nil {
            try folder.refuseWithoutDatabase()
            key = try StoreKey.find(settings.key, in: folder)
        } else {
            try folder.refuseDatabase()
            key = try StoreKey.find(settings.key)
        }
        let sealer = AESGCMSealer(key: key.key)
        self.folder = folder
        self.digests = digests
        let tokens = try GatewayProcess.tokens(settings, folder, environment, digests)
        let files = FileThreads(count: 4)
        let reserve = ReserveFile(at: folder.path(DataFolder.reserveName), files: files)
        let store: GatewayStore
        if let opened {
            store = opened
        } else {
            store = try await GatewayProcess.openStore(settings, in: folder, sealer, reserve)
        }
        let contents = try await GatewayProcess.untilReached(by: standBy) {
            try await store.store.load()
        }
        let place = try await GatewayProcess.untilReached(by: standBy) {
            try await GatewayProcess.joinContents(
                settings, in: folder, of: store, isNew: contents.lastIdentifier == 0, digests,
                files)
        }
        if settings.store != nil, contents.lastIdentifier == 0 {
            try folder.refuseOthersContents(in: store)
        }
        try content.prepare()
        self.store = store
        audit = try settings.auditLog.map { path throws(Refusal) in try AuditFile(path) }
        var parts = GatewayParts(
            store: store.store, transport: transport, digests: digests, sealer: sealer,
            publicSuffixes: try LibPSL(), files: files, folder: content)
        parts.reserve = reserve
        parts.storeIsElsewhere = settings.store != nil
        parts.sharedStore = store.shared
        if let place {
            parts.keepContents(in: place, isShared: settings.nodeAddress != nil)
        }
        if !settings.folders.isEmpty { parts.saveDownloads(in: settings.folders) }
        parts.connectivity = NetworkWatch()
        parts.ticketHosts = settings.negotiateHosts
        gateway = Engine.Gateway(
            parts, contents: contents, limits: GatewayProcess.limits(settings))
        var options = Service.Options(
            tokens: tokens, hosts: GatewayProcess.hosts(settings, certificate?.facts),
            isBehindTLSProxy: settings.isBehindTLSProxy, version: Ferry.release)
        options.speaksTLS = certificate != nil
        options.commit = Ferry.commit
        options.audit = audit
        options.machine = ThisMachine(dataDirectory: folder.root)
        options.nodes = try GatewayProcess.nodeOptions(settings, key.key)
        let service = Service(gateway: gateway, transport: transport, options: options)
        self.service = service
        server = Server(
            router: try service.router(), limits: GatewayProcess.doorLimits(),
            checks: { service.check($0) },
            crossOrigin: CrossOrigin(allowing: settings.allowedOrigins),
            failure: { error, _ in service.answer(to: error) })
        service.server = server
    }

    /// The names that clients may call the gateway by. What its certificate is for is meant for it:
    /// no page of another name can get a certificate of the operator's.
    private static func hosts(_ settings: ServeSettings, _ certificate: CertificateFacts?)
        -> HostRule
    {
        let certified = (certificate?.names ?? []).filter { !HostRule.isTooWide($0) }.map {
            $0.contains(":") ? "[\($0)]" : $0
        }
        return HostRule(allowing: settings.allowedHosts + [settings.host] + certified)
    }

    /// What goes between this gateway and the other nodes; nil where there are none.
    private static func nodeOptions(
        _ settings: ServeSettings, _ key: DataKey
    ) throws -> Service.NodeOptions? {
        guard settings.nodeAddress != nil else { return nil }
        return Service.NodeOptions(
            client: HTTPClient(
                limits: clientLimits(), trustedCertificates: settings.trustedCertificates),
            key: key.derived(for: "calls between nodes"))
    }

    /// Asks once; again where the gateway has stood by: nobody looks after its start.
    private static func untilReached<Value>(
        by standBy: StandBy?, _ body: @LoopActor () async throws -> Value
    ) async throws -> Value {
        guard let standBy else { return try await body() }
        return try await standBy.untilReached(body)
    }

    /// Where contents are kept, if not in the data directory.
    private static func joinContents(
        _ settings: ServeSettings, in folder: DataFolder, of store: GatewayStore, isNew: Bool,
        _ digests: SHADigests, _ files: FileThreads
    ) async throws -> (any WholeContents)? {
        guard let place = settings.contents else {
            try await folder.refuseToldContents(of: store)
            try await folder.refuseWithoutContents(of: store)
            return nil
        }
        let contents = try place.open(
            settings.contentsEnvironment, curlSettings(settings), digests: digests, files: files)
        if case .node(let database) = store {
            try await folder.join(
                contents, at: place.description, ofNodesOf: database, isNew: isNew)
            return contents
        }
        try await folder.join(
            contents, at: place.description, of: store, isNew: isNew, standsBy: settings.standsBy)
        await contents.forgetOldWork()
        return contents
    }

    /// Opens the database, on a full disk with room of the reserve (R-5).
    private static func openStore(
        _ settings: ServeSettings, in folder: DataFolder, _ sealer: AESGCMSealer,
        _ reserve: ReserveFile
    ) async throws -> GatewayStore {
        while true {
            do {
                return try GatewayStore.open(settings, in: folder, sealer)
            } catch {
                guard error as? StoreError == .full, settings.store == nil,
                    await reserve.release()
                else { throw error }
            }
        }
    }

    private func serve(after standBy: StandBy?) async throws -> Int32 {
        let ending = Ending()
        GatewayProcess.signals = Signals(Signals.ending + [SIGHUP]) { signal in
            if signal == SIGHUP { return reload() }
            GatewayProcess.log.write(
                .notice, "the gateway stops",
                ["signal": .name(signal == SIGINT ? "SIGINT" : "SIGTERM")])
            ending.end(with: 0)
        }
        standBy?.letGoOfSignals()
        gateway.onStoreFailure = { _ in ending.end(with: 74) }
        store.tellFailure { Task { @LoopActor in ending.end(with: 74) } }
        var addresses = [
            try server.listen(
                on: .tcp(host: settings.host, port: settings.port), tls: certificate?.tls)
        ]
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
        certificate?.onChange = { certificateHasChanged($0) }

        let code = await ending.code()
        let began = ContinuousClock.now
        service.isReady = false
        DiscoveryFile.remove(environment: environment)
        guard code == 0 else {
            // The store is broken: nothing more may be promised.
            service.endAudit()
            audit?.close()
            return code
        }
        gateway.endWaits()
        service.endWaits()
        await server.drain(within: .seconds(10))
        let interrupted = await gateway.stop()
        try await store.close()
        service.endAudit()
        audit?.close()
        GatewayProcess.log.write(
            .notice, "the gateway has stopped",
            ["duration": .duration(.now - began), "interrupted": .number(interrupted)])
        return 0
    }

    /// Says where the gateway is, for people and for the commands on this machine.
    private func announce(_ addresses: [ListenAddress]) throws {
        for address in addresses {
            Serve.tell("Ferry listens on \(url(of: address))")
        }
        // Whoever has started a private gateway waits for no more than that.
        guard settings.userLock == nil else { return }
        if environment["FERRY_TOKEN"] == nil {
            Serve.tell("The token is in \(folder.path("token"))")
        }
        if let path = settings.metricsTokenFile {
            Serve.tell("The token for /metrics is in \(path)")
        }
        tellCommands(try folder.token(environment: environment))
        logStart(addresses)
    }

    private func logStart(_ addresses: [ListenAddress]) {
        let places = addresses.map { url(of: $0) }.joined(separator: ",")
        let destinations = settings.allowedDestinations.map(\.description).joined(separator: ",")
        GatewayProcess.log.write(
            .notice, "the gateway has started",
            [
                "version": .name(Ferry.release), "commit": .name(Ferry.commit),
                "address": .name(places), "dataDirectory": .name(folder.root),
                "store": .name(store.place(in: folder)),
                "contents": .name(settings.contents?.description ?? folder.contents.path),
                "behindTlsProxy": .name(settings.isBehindTLSProxy ? "true" : "false"),
                "certificateNames": .name(certificate?.facts.names.joined(separator: ",") ?? ""),
                "allowHost": .name(settings.allowedHosts.joined(separator: ",")),
                "allowDestination": .name(destinations),
                "logLevel": .name(settings.logLevel.rawValue),
                "descriptors": .number(GatewayProcess.descriptorCount()),
            ])
    }

    /// Leaves the address where the commands on this machine find it. A gateway that asks for
    /// client certificates is best reached by its unix socket, where it has one.
    private func tellCommands(_ token: AccessToken) {
        let addresses = server.addresses
        let isPicky = certificate?.tls.context.asksForClientCertificates ?? false
        guard let address = isPicky ? addresses.last : addresses.first else { return }
        let isSecure = !address.isUnixSocket && certificate != nil
        do {
            _ = try DiscoveryFile(
                gateway: url(of: address), token: token.text,
                publicKey: isSecure ? certificate?.facts.publicKeyPin : nil
            ).write(environment: environment)
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
    /// key's file is looked at, for the next start. The log is standard error, which is not the
    /// gateway's to open again. What else a gateway was started with stays as it is to its end.
    private func reload() {
        readToken()
        audit?.reopen()
        certificate?.readAgain()
        do {
            try key.check()
        } catch {
            GatewayProcess.log.write(
                .error, "SIGHUP: the next start will fail for the key: put it back before",
                ["error": .words("\(error)")])
        }
    }

    private func certificateHasChanged(_ facts: CertificateFacts) {
        service.hosts = GatewayProcess.hosts(settings, facts)
        guard settings.userLock == nil else { return }
        do {
            tellCommands(try folder.token(environment: environment))
        } catch {
            GatewayProcess.log.write(
                .error, "commands on this machine will not know the new certificate",
                ["error": .words("\(error)")])
        }
    }

    private func readToken() {
        do {
            service.tokens = try GatewayProcess.tokens(settings, folder, environment, digests)
            let token = try folder.token(environment: environment)
            if settings.userLock == nil { tellCommands(token) }
            GatewayProcess.log.write(.notice, "SIGHUP: the token was read again")
        } catch {
            GatewayProcess.log.write(
                .error, "SIGHUP: the token stays as it was", ["error": .words("\(error)")])
        }
    }

    /// The address as the commands take it; one that means every interface is reached by loopback.
    private func url(of address: ListenAddress) -> String {
        guard case .tcp(let host, let port) = address else { return "unix:\(address)" }
        let scheme = certificate == nil ? "http" : "https"
        let reached =
            switch host {
            case "0.0.0.0": "127.0.0.1"
            case "::": "[::1]"
            default: host.contains(":") ? "[\(host)]" : host
            }
        return "\(scheme)://\(reached):\(port)"
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

    private static func clientLimits() -> ClientLimits {
        var limits = ClientLimits()
        limits.connections = DescriptorShares(of: descriptorCount()).nodes
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
