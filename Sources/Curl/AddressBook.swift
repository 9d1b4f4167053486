internal import DequeModule
internal import Loop
internal import Semantics

/// The addresses of names that libcurl does not look up: those of servers that a proxy gets as an
/// address.
///
/// Of one pool, as libcurl's own memory of names is: what one session has looked up, no other can
/// tell by the time that it takes. An address is good for a minute, as there.
@LoopActor
final class AddressBook {
    typealias Answer = Result<[IPAddress], Failure>
    /// Looks a name up. Blocks.
    typealias Resolver = @Sendable (String) -> Answer

    /// Why there are no addresses.
    struct Failure: Error {
        /// The resolver's words.
        let words: String
        /// Whether somebody was asked and has said that the name has none.
        var isAnswer = false
        /// Whether the process had no descriptor to ask with.
        var lacksDescriptors = false
    }

    /// Threads that wait for the resolver, and how it is asked; for all pools.
    @LoopActor
    final class Lookups {
        fileprivate let threads: FileThreads
        fileprivate let ask: Resolver

        init(asking ask: @escaping Resolver, on threads: FileThreads = FileThreads(count: 32)) {
            self.ask = ask
            self.threads = threads
        }
    }

    /// Who waits for an answer.
    private struct Reader {
        let isWaiting: @LoopActor () -> Bool
        let goOn: @LoopActor (Answer) -> Void
    }

    private enum Page {
        /// It may be in the queue still.
        case asked([Reader])
        case known([IPAddress], until: Duration)
    }

    private let lookups: Lookups
    private let lifetime: Duration
    private let pageLimit: Int
    private let lookupLimit: Int
    /// Reads the clock by which addresses grow old.
    private let now: @LoopActor () -> Duration
    private var pages: [String: Page] = [:]
    /// How many threads look up for this book.
    private var lookupCount = 0
    /// Names that wait for one.
    private var queue = Deque<String>()

    /// An empty book that knows so many names, each for a while, and takes so many threads at a
    /// time.
    init(
        _ lookups: Lookups, lifetime: Duration = .seconds(60), pageLimit: Int = 1_000,
        lookupLimit: Int = 8,
        now: @escaping @LoopActor () -> Duration = { .nanoseconds(LoopActor.loop.clock.now) }
    ) {
        self.now = now
        self.lookupLimit = lookupLimit
        self.lookups = lookups
        self.lifetime = lifetime
        self.pageLimit = pageLimit
    }

    /// Finds the addresses of a host, at least one, best first; calls back at once where they are
    /// known.
    ///
    /// What nobody waits for any more when its turn comes is not looked up, and nobody is called
    /// back.
    func find(
        _ host: String, while isWaiting: @escaping @LoopActor () -> Bool = { true },
        then goOn: @escaping @LoopActor (Answer) -> Void
    ) {
        let reader = Reader(isWaiting: isWaiting, goOn: goOn)
        if let known = Self.knownToAll(host) { return goOn(.success(known)) }
        switch pages[host] {
        case .known(let addresses, let end) where now() < end:
            goOn(.success(addresses))
        case .asked(let others):
            pages[host] = .asked(others + [reader])
        case .known, nil:
            makeRoom()
            pages[host] = .asked([reader])
            queue.append(host)
            lookUp()
        }
    }

    /// Looks up what waits for a thread, as far as there are any.
    private func lookUp() {
        while lookupCount < lookupLimit, let host = queue.popFirst() {
            guard case .asked(let readers) = pages[host],
                readers.contains(where: { $0.isWaiting() })
            else {
                pages[host] = nil
                continue
            }
            lookupCount += 1
            lookups.threads.submit { [ask = lookups.ask] in
                ask(host)
            } then: { [self] result in
                lookupCount -= 1
                note((try? result.get()) ?? .failure(Failure(words: "")), of: host)
                lookUp()
            }
        }
    }

    private func note(_ answer: Answer, of host: String) {
        guard case .asked(let waiting) = pages[host] else { return }
        pages[host] = (try? answer.get()).map {
            .known($0, until: now() + lifetime)
        }
        for reader in waiting { reader.goOn(answer) }
    }

    /// All that is known goes at once: whoever asks for so many names asks for each of them once.
    private func makeRoom() {
        guard pages.count >= pageLimit else { return }
        pages = pages.filter { if case .asked = $0.value { true } else { false } }
    }

    /// Addresses, and the names of this machine, which lead to the same everywhere (RFC 6761 §6.3).
    private static func knownToAll(_ host: String) -> [IPAddress]? {
        if let address = IPAddress(host) { return [address] }
        var name = host[...]
        while name.hasSuffix(".") { name = name.dropLast() }
        let isLocal = name == "localhost" || name.hasSuffix(".localhost")
        return isLocal ? [.v4(0x7f00_0001), .v6(1)] : nil
    }

    /// getaddrinfo(3), in the order of RFC 6724.
    nonisolated static func askSystem(_ host: String) -> Answer {
        switch SocketAddress.lookUp(host) {
        case .success(let found):
            let addresses = found.compactMap { IPAddress(networkBytes: $0.networkBytes) }
            guard !addresses.isEmpty else { return .failure(Failure(words: "no address")) }
            return .success(addresses)
        case .failure(let error):
            return .failure(
                Failure(
                    words: error.words, isAnswer: error.isAnswer,
                    lacksDescriptors: SpareDescriptors.areLacking))
        }
    }
}
