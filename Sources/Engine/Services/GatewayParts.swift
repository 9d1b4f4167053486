public import Loop

/// What a gateway is made of.
public struct GatewayParts {
    let store: any Store
    let transport: any Transport
    let digests: any Digests
    let sealer: any Sealer
    let files: FileThreads
    let folder: ContentFolder
    /// Keeps contents that are whole: in `folder`, where nothing else is said.
    private(set) var contents: any ContentStore
    let clock: any Clock
    let publicSuffixes: any PublicSuffixes
    /// Tells of changes of this machine's network; nil where nothing does (S-26).
    public var connectivity: (any Connectivity)?
    /// The folders that downloads can be saved in; nil for none.
    var saveFolders: (any SaveFolders)?
    /// Room on the store's disk that is kept for the store; nil keeps none.
    public var reserve: (any Reserve)?
    /// The store, where other nodes have theirs in it, too; nil where this gateway has it alone.
    public var sharedStore: (any NodeStore)?
    /// Whether the store takes its room somewhere else than on this machine's disk: the reserve is
    /// none of it.
    public var storeIsElsewhere = false
    /// The hosts that are shown the tickets of the process's Kerberos cache without asking (S-63).
    public var ticketHosts: Set<String> = []

    /// The parts; the gateway closes none of them.
    public init(
        store: any Store, transport: any Transport, digests: any Digests, sealer: any Sealer,
        publicSuffixes: any PublicSuffixes, files: FileThreads, folder: ContentFolder,
        clock: any Clock = SystemClock()
    ) {
        self.publicSuffixes = publicSuffixes
        self.store = store
        self.transport = transport
        self.digests = digests
        self.sealer = sealer
        self.files = files
        self.folder = folder
        contents = LocalContentStore(in: folder, files: files)
        self.clock = clock
    }

    /// Keeps contents that are whole elsewhere; parts stay in the folder.
    ///
    /// - Parameters:
    ///   - place: where.
    ///   - isShared: whether other nodes keep theirs there, too: then stretches of downloads go
    ///     there before they are whole, for others to go on behind them.
    public mutating func keepContents(in place: any WholeContents, isShared: Bool) {
        contents = SplitContentStore(
            place, partsIn: folder, files: files, isShared: isShared)
    }

    /// Lets downloads be saved in folders of this machine.
    ///
    /// - Parameter roots: absolute paths by their names; none of them has to be there yet.
    public mutating func saveDownloads(in roots: [String: String]) {
        saveFolders = LocalSaveFolders(roots, contents: folder, files: files)
    }
}
