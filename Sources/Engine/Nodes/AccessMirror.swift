internal import Loop
internal import Semantics

/// What all nodes know alike: tenants, tokens and settings. The node that has the operator's tenant
/// changes them; the others read them anew whenever they are others than before.
@LoopActor
final class AccessMirror {
    /// For how long what was known may be relied on: taking over large tenants comes between two
    /// looks.
    private static let patience = Duration.seconds(30)

    private let store: any NodeStore
    private let tenants: TenantService
    private let settings: SettingService
    /// What was read last.
    private var version: Int64?
    private let clock: any Clock
    /// What the others had changed by this instant is known here.
    private var knownUntil: Duration

    init(
        _ store: any NodeStore, tenants: TenantService, settings: SettingService, clock: any Clock
    ) {
        self.store = store
        self.tenants = tenants
        self.settings = settings
        self.clock = clock
        knownUntil = clock.uptime
    }

    /// Whether the others may have changed something long ago that is not known here.
    var isOutdated: Bool { clock.uptime - knownUntil > Self.patience }

    /// What they had changed by an instant is known here, and which tenants they have.
    func noteKnown(until instant: Duration) { knownUntil = instant }

    /// Reads what has changed since the last look.
    ///
    /// - Parameters:
    ///   - view: has the version.
    ///   - isOperators: whether this is the node that changes it: that one knows. Asked when it was
    ///     read.
    /// - Throws: `StoreError`, where it cannot be read.
    func follow(
        _ view: NodeView, unless isOperators: @LoopActor () -> Bool
    ) async throws(StoreError) {
        guard version != view.accessVersion else { return }
        let contents = try await store.load()
        if isOperators() {
            tenants.dropRemoved(notAmong: Set(contents.tenants.map(\.id)))
        } else {
            refresh(contents)
        }
        version = view.accessVersion
    }

    /// Reads all of it: this node is about to be the one that changes it.
    ///
    /// - Throws: `StoreError`, where it cannot be read.
    func reload() async throws(StoreError) { refresh(try await store.load()) }

    private func refresh(_ contents: StoreContents) {
        tenants.refresh(contents)
        settings.refresh(contents)
    }

    /// Whether there is such a tenant.
    func knows(_ tenant: TenantID) -> Bool { tenants.name(of: tenant) != nil }

    /// Tenants that are being deleted.
    var ending: [TenantID] { tenants.directory.ending }

    /// Goes on with the deletion of those that are here.
    func removeEnding() { tenants.removeEnding() }
}
