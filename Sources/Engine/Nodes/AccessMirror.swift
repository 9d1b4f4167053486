internal import Loop
internal import Semantics

/// What all nodes know alike: tenants, tokens and settings. The node that has the operator's tenant
/// changes them; the others read them anew whenever they are others than before.
@LoopActor
final class AccessMirror {
    private let store: any NodeStore
    private let tenants: TenantService
    private let settings: SettingService
    /// What was read last.
    private var version: Int64?
    /// Whether the others may have changed what is known here, and nobody has looked.
    private(set) var isOutdated = false

    init(_ store: any NodeStore, tenants: TenantService, settings: SettingService) {
        self.store = store
        self.tenants = tenants
        self.settings = settings
    }

    /// Whoever can change it is out of reach: nothing is known until the next look.
    func expire() { isOutdated = true }

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
        if version != view.accessVersion {
            let contents = try await store.load()
            if isOperators() {
                tenants.dropRemoved(notAmong: Set(contents.tenants.map(\.id)))
            } else {
                refresh(contents)
            }
            version = view.accessVersion
        }
        isOutdated = false
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
