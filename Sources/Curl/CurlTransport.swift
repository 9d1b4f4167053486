public import Engine
internal import Files
public import Loop
public import Semantics

/// The network by libcurl: the adapter behind the engine's `Transport` port.
///
/// Everything runs on the loop; name look-ups have threads of their own. Each pool has a libcurl
/// multi handle while it is in use, each attempt an easy handle.
@LoopActor
public final class CurlTransport: Transport {
    private let settings: CurlSettings
    private lazy var share = FairShare()
    // Made with the transport: where the process may have no more threads, they are there.
    private let identityThread = FileThreads(count: 1)
    private let ticketThreads = FileThreads(count: 4)
    // Four pools may use them up with names that nobody answers: only other requests of this kind
    // wait for them.
    private let lookupThreads = FileThreads(count: 32)
    private lazy var tickets = Tickets(on: ticketThreads)
    private lazy var lookups = AddressBook.Lookups(asking: ask, on: lookupThreads)
    private let ask: AddressBook.Resolver
    private let opener: OpenDescriptors.Opener
    lazy var descriptors = OpenDescriptors(limit: settings.descriptors, opener: opener)

    /// Prepares libcurl and the process for it.
    ///
    /// The first one removes `*_PROXY` and `SSLKEYLOGFILE` from the environment and sets the
    /// locale's `LC_CTYPE`: make it at the start of the program, before other threads read
    /// either.
    public nonisolated convenience init(_ settings: CurlSettings) {
        self.init(settings, asking: AddressBook.askSystem)
    }

    /// The same with a resolver of one's own for the names of which a proxy gets the address, and
    /// another way to make sockets.
    nonisolated init(
        _ settings: CurlSettings, asking ask: @escaping AddressBook.Resolver,
        opener: @escaping OpenDescriptors.Opener = { wanted throws(FileError) in
            try wanted.make()
        }
    ) {
        LibcurlProcess.prepare()
        self.settings = settings
        self.ask = ask
        self.opener = opener
    }

    /// Reads a URL by libcurl's parser, at most 32 KiB long. About 3 µs.
    ///
    /// Refused as malformed is everything in which a browser could see another host: user
    /// information, backslashes, blanks and control characters, `http:/host`, `http:///host`, port
    /// 0, host names with other characters than letters, digits, `-`, `_` and `.`, and numbers that
    /// are no IPv4 address. What comes back is a fixed point: parsed again it is the same.
    public nonisolated func parse(_ url: String) throws(URLRejection) -> WebURL {
        try URLReader.parse(url)
    }

    /// Resolves a reference (RFC 3986 §5.2) and reads the result as `parse` does. Blanks and
    /// characters beyond ASCII are percent-encoded first, since servers send them.
    public nonisolated func resolve(
        _ reference: String, against base: WebURL
    ) throws(URLRejection) -> WebURL {
        try URLReader.resolve(reference, against: base)
    }

    /// Reads certificate and key as they are read for a connection, at most 256 KiB each, on a
    /// thread of its own: a PKCS #12 file may ask for any number of rounds of its key derivation
    /// (RFC 7292 appendix B).
    public func prepare(
        _ identity: ClientIdentity
    ) async throws(IdentityRejection) -> ClientIdentity {
        let outcome = try? await identityThread.run {
            Result { () throws(IdentityRejection) in try IdentityReader.read(identity) }
        }
        guard let outcome else { return identity }  // the work above throws nothing
        return try outcome.get()
    }

    /// Makes a pool. It costs nothing until its first attempt.
    public func makePool(_ settings: PoolSettings) -> any ConnectionPool {
        CurlPool(
            settings, self.settings, share: share, tickets: tickets,
            addresses: AddressBook(lookups), descriptors: descriptors)
    }
}
