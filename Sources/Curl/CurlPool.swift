internal import CCurl
internal import Engine
internal import Files
internal import Glibc
internal import Loop
internal import Semantics

/// The connections of one session: a libcurl multi handle that exists while it is needed.
///
/// Lives on until its attempts have ended, also when nobody holds it.
@LoopActor
final class CurlPool: ConnectionPool {
    private let settings: PoolSettings
    private let common: CurlSettings
    /// Where this pool's attempts may go.
    let gate: EgressGate
    private var multi: MultiHandle? {
        didSet { if multi == nil { descriptors.leave(ObjectIdentifier(self)) } }
    }
    /// By the address of the easy handle.
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
    private(set) var isClosed = false
    private var connectionLimit = 0
    private var idleTimer: LoopTimer?
    private var wasUsed = false

    let origins: OriginBook
    private let share: FairShare
    private let tickets: Tickets
    private let addresses: AddressBook
    private let descriptors: OpenDescriptors
    /// The greater, the later the pool has begun to rest.
    private(set) var restNumber: UInt64 = 0

    /// An attempt with what its transfer was made of beside the request, for another one that takes
    /// its place.
    private struct Transfer {
        let attempt: CurlAttempt
        let supplement: Supplement
    }

    /// What goes into a transfer beside the request.
    private struct Supplement {
        /// What a SOCKS proxy is told in place of the host.
        var address: IPAddress?
        var proofs = Tickets.Proofs()
        /// A connection that was kept did not serve.
        var needsOwnConnection = false
    }

    init(
        _ settings: PoolSettings, _ common: CurlSettings, share: FairShare, tickets: Tickets,
        addresses: AddressBook, descriptors: OpenDescriptors
    ) {
        origins = OriginBook()
        self.descriptors = descriptors
        self.share = share
        self.tickets = tickets
        self.addresses = addresses
        self.settings = settings
        self.common = common
        self.gate = EgressGate(common.egress, of: settings.egress)
    }

    /// The pool of one attempt, under the rules of another one.
    private init(apartFrom pool: CurlPool) {
        origins = pool.origins
        share = pool.share
        tickets = pool.tickets
        addresses = pool.addresses
        descriptors = pool.descriptors
        settings = pool.settings
        common = pool.common
        gate = pool.gate
    }

    isolated deinit {
        descriptors.leave(ObjectIdentifier(self))
    }

    func start(_ request: AttemptRequest, observer: any AttemptObserver) -> any Attempt {
        precondition(multi?.isActing != true, "an attempt is started from inside libcurl")
        // For every request but the first one libcurl takes any connection that it has (measured).
        let isFresh = request.usesFreshConnection && Conversation(request).needsAnswers
        let offer = ProtocolOffer(request, origins)
        let isApart = (isFresh || offer == .http2Apart) && !isClosed
        return (isApart ? CurlPool(apartFrom: self) : self).run(request, offer, observer)
    }

    private func run(
        _ request: AttemptRequest, _ offer: ProtocolOffer, _ observer: any AttemptObserver
    ) -> CurlAttempt {
        let attempt = CurlAttempt(
            request, offer, pool: self, share: share, sendBufferSize: common.sendBufferSize,
            observer: observer)
        if let refusal = refusal(of: request) {
            attempt.endSoon(refusal)
            return attempt
        }
        if request.proxy?.kind.isToldAddresses == true {
            findAddress(for: attempt, request)
        } else {
            findTickets(for: attempt, request, Supplement())
        }
        return attempt
    }

    /// libcurl tells nobody which address it gives to a proxy. So the name is looked up here,
    /// what it leads to is judged, and libcurl gets an address in its place. A connection through
    /// the proxy is kept for that address only.
    private func findAddress(for attempt: CurlAttempt, _ request: AttemptRequest) {
        let url = request.url
        let start = LoopActor.loop.clock.now
        addresses.find(url.host, while: { !attempt.hasEnded }) { [self] answer in
            guard !attempt.hasEnded else { return }
            switch answer {
            case .failure(let failure) where failure.lacksDescriptors:
                lacksDescriptor(for: attempt) { [self] in findAddress(for: attempt, request) }
            case .failure(let failure):
                attempt.endSoon(
                    AttemptOutcome.error(ofLookingUp: url.host, failure, at: url))
            case .success(let found):
                let known = found.filter { request.proxy?.kind != .socks4 || $0.bitCount == 32 }
                guard !known.isEmpty else { return attempt.endSoon(Self.isTooNew(url)) }
                let permitted = known.filter { gate.mayTell($0, port: url.port) }
                // One only is tried. Nobody knows what the proxy's own network has, and most that
                // lack a version lack version 6; the order of the resolver is about this machine's.
                let address = permitted.first { $0.bitCount == 32 } ?? permitted.first
                guard let address else { return attempt.endSoon(.destinationDenied) }
                var request = request
                request.connectTimeout? -= Double(LoopActor.loop.clock.now - start) / 1e9
                attempt.hasWaited()
                findTickets(for: attempt, request, Supplement(address: address))
            }
        }
    }

    private static func isTooNew(_ url: WebURL) -> TransferError {
        .url(
            .cannotConnectToHost, at: url.string,
            message: "The host has no address of version 4, and SOCKS 4 knows no other.")
    }

    private func findTickets(
        for attempt: CurlAttempt, _ request: AttemptRequest, _ supplement: Supplement
    ) {
        guard request.needsTickets else { return begin(attempt, request, supplement) }
        tickets.prove(request, while: { !attempt.hasEnded }) { [self] proofs in
            guard !attempt.hasEnded else { return }
            attempt.hasWaited()
            var supplement = supplement
            supplement.proofs = proofs
            begin(attempt, request, supplement)
        }
    }

    private func begin(
        _ attempt: CurlAttempt, _ request: AttemptRequest, _ supplement: Supplement
    ) {
        let transfer = Transfer(attempt: attempt, supplement: supplement)
        do throws(CurlFailure) {
            try begin(transfer, makeHandle(for: request, supplement, attempt))
        } catch {
            attempt.endSoon(AttemptOutcome.error(of: error, at: request.url))
        }
    }

    func close() {
        precondition(multi?.isActing != true, "a pool is closed from inside libcurl")
        isClosed = true
        for transfer in transfers.values { transfer.attempt.keepConnectionAtEnd(false) }
        closeIfUnused()
    }

    // MARK: What attempts ask

    /// Whether a callback of libcurl is on the stack.
    var isActing: Bool { multi?.isActing ?? false }

    /// Pauses or unpauses; see `MultiHandle.pause`.
    func pause(_ easy: EasyHandle, _ bits: CInt) -> CURLcode {
        multi?.pause(easy, bits) ?? CURLE_OK
    }

    /// See `MultiHandle.turn`.
    func turn() {
        multi?.turn()
    }

    /// Ends the transfer of an attempt, which has not sent anything of its request, and begins
    /// another one on a connection of its own. The attempt is not held in between.
    func beginAnew(_ attempt: CurlAttempt, instead easy: EasyHandle) throws(CurlFailure) {
        var request = attempt.request
        request.usesFreshConnection = true
        let isApart = Conversation(request).needsAnswers || attempt.offer == .http2Apart
        let pool = isApart ? CurlPool(apartFrom: self) : self
        var supplement = transfers[easy.raw]?.supplement ?? Supplement()
        supplement.needsOwnConnection = true
        let transfer = Transfer(attempt: attempt, supplement: supplement)
        supplement.proofs = Tickets.Proofs()
        let fresh = try pool.makeHandle(for: request, supplement, attempt)
        transfers[easy.raw] = nil
        multi?.remove(easy)
        try pool.begin(transfer, fresh)
        attemptLeft()
        if isClosed { attempt.keepConnectionAtEnd(false) }
    }

    /// Begins a transfer again for which there was no descriptor.
    func tryAgain(_ attempt: CurlAttempt, instead easy: EasyHandle) throws(CurlFailure) {
        let supplement = transfers[easy.raw]?.supplement ?? Supplement()
        var request = attempt.request
        if supplement.needsOwnConnection { request.usesFreshConnection = true }
        let fresh = try makeHandle(for: request, supplement, attempt)
        transfers[easy.raw] = nil
        multi?.remove(easy)
        try begin(Transfer(attempt: attempt, supplement: supplement), fresh)
        if isClosed { attempt.keepConnectionAtEnd(false) }
    }

    /// There is no descriptor for an attempt, of which nothing has been sent: it waits for one.
    func lacksDescriptor(for attempt: CurlAttempt, then goOn: @escaping @LoopActor () -> Void) {
        descriptors.areLacking()
        attempt.waitForDescriptor(then: goOn)
    }

    /// Ends the transfer of an attempt and forgets it.
    func remove(_ easy: EasyHandle) {
        guard transfers.removeValue(forKey: easy.raw) != nil else { return }
        multi?.remove(easy)
        attemptLeft()
    }

    private func attemptLeft() {
        guard transfers.isEmpty else { return }
        if isClosed {
            // Not here: libcurl's messages may be being read.
            LoopActor.later { [self] in closeIfUnused() }
        } else {
            waitIdle()
        }
    }

    // MARK: Beginning

    /// What can be told without the network.
    private func refusal(of request: AttemptRequest) -> TransferError? {
        let url = request.url
        if isClosed { return .cancelled.at(url.string) }
        // literals and names of this machine are judged before any resolution.
        guard gate.mayResolve(host: url.host, port: url.port) else {
            return .destinationDenied
        }
        if let proxy = request.proxy {
            guard URLReader.isHost(proxy) else {
                return .url(.cannotFindHost, at: url.string, message: "The proxy is no host.")
            }
            guard gate.mayResolve(host: proxy.host, port: proxy.port) else {
                return .destinationDenied
            }
        }
        guard RequestHeader.isSafe(request) else {
            return .url(
                .unknown, at: url.string, message: "The request has a line break in its header.")
        }
        // libcurl cannot send one, and RFC 9110 §9.3.2 gives it no meaning. Foundation answers a
        // GET with a body so.
        guard request.method != "HEAD" || request.body?.isEmpty != false else {
            return .url(
                .dataLengthExceedsMaximum, at: url.string, message: "A HEAD request has no body.")
        }
        return nil
    }

    private func begin(_ transfer: Transfer, _ easy: EasyHandle) throws(CurlFailure) {
        guard let multi = multi ?? makeMulti() else { throw .outOfMemory }
        try easy.setCloseCallback(multi)
        transfers[easy.raw] = transfer
        makeRoom(multi)
        transfer.attempt.begin(easy, in: self)
        multi.add(easy)
    }

    private func makeHandle(
        for request: AttemptRequest, _ supplement: Supplement, _ attempt: CurlAttempt
    ) throws(CurlFailure) -> EasyHandle {
        let easy = EasyHandle()
        let url: ParsedURL
        do {
            url = try ParsedURL(request.url.string)
        } catch {
            throw .malformedURL
        }
        try easy.setConnection(request, attempt.offer)
        try easy.setDestination(url, request, address: supplement.address)
        if request.url.isSecure {
            try easy.setSecurity(
                request, settings, trustedCertificates: common.trustedCertificates)
        }
        try easy.setRequest(
            request, supplement.proofs, userAgent: common.userAgent,
            bufferSize: common.sendBufferSize)
        try easy.setResponse(bufferSize: common.receiveBufferSize)
        try easy.setCallbacks(attempt, request)
        return easy
    }

    private func makeMulti() -> MultiHandle? {
        connectionLimit = 0
        descriptors.join(self)
        multi = MultiHandle(
            counting: descriptors,
            onEnd: { [weak self] easy, code in self?.transfers[easy]?.attempt.end(code) },
            onWatch: { [weak self] easy, socket, isForInput in
                self?.transfers[easy]?.attempt.noteWatch(of: socket, isForInput: isForInput)
            },
            onStandstill: { [weak self] in
                for transfer in (self?.transfers ?? [:]).values {
                    transfer.attempt.prolongConnecting()
                }
            })
        return multi
    }

    /// libcurl closes idle connections beyond its limit, by default four for each running transfer,
    /// so that a burst would lose its connections as it ends. Here room only grows while the pool
    /// is in use.
    private func makeRoom(_ multi: MultiHandle) {
        wasUsed = true
        guard connectionLimit < transfers.count * 2 else { return }
        connectionLimit = max(64, transfers.count * 4)
        multi.limitConnections(to: connectionLimit)
    }

    // MARK: Descriptors

    /// CURLOPT_OPENSOCKETFUNCTION.
    func make(_ wanted: WantedSocket) throws(FileError) -> CInt {
        guard let multi else { throw FileError("socket", code: EBADF) }
        return try multi.make(wanted)
    }

    /// A connection for an attempt is there, on one of the sockets that were made for it.
    func note(_ ends: ConnectionEnds, among sockets: [CInt]) {
        multi?.sockets.note(ends, among: sockets)
    }

    /// The socket of a connection that has carried a request.
    func socket(at ends: ConnectionEnds) -> CInt? { multi?.sockets[ends] }

    /// Whether the pool has no attempt.
    var isResting: Bool { transfers.isEmpty }

    /// How many connections there are beside those of attempts, at least.
    var keptConnectionCount: Int { max(0, (multi?.socketCount ?? 0) - transfers.count) }

    /// Closes all connections of a pool without attempts.
    func giveUpHandle() {
        precondition(transfers.isEmpty && !isActing, "a handle is given up that is in use")
        idleTimer?.cancel()
        multi = nil
    }

    /// Closes the connections that attempts do not use, and until another attempt begins keeps no
    /// more of them.
    func giveUpKept() {
        guard let multi else { return }
        connectionLimit = max(1, transfers.count)
        multi.limitConnections(to: connectionLimit)
        multi.closeKept()
    }

    // MARK: Ending

    private func closeIfUnused() {
        if transfers.isEmpty { multi = nil }
    }

    /// Closes the connections when the pool has been without attempts for the idle lifetime, at
    /// most twice as long.
    private func waitIdle() {
        restNumber = descriptors.nextRest()
        let timer = idleTimer ?? LoopTimer { [weak self] in self?.idleTimePassed() }
        idleTimer = timer
        guard !timer.isArmed else { return }
        wasUsed = false
        timer.arm(after: common.idleLifetime)
    }

    private func idleTimePassed() {
        guard transfers.isEmpty else { return }
        if wasUsed { waitIdle() } else { multi = nil }
    }
}
