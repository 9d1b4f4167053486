import Engine
import Loop
import Semantics

/// Who has which tenant, for nodes that are told by a test.
@LoopActor
final class PlaceBook {
    private(set) var view = NodeView()
    private var readers: [BookReader] = []
    /// How often a node has asked for a new look.
    fileprivate(set) var looks = 0
    /// How often a node has waited for one.
    fileprivate(set) var catchUps = 0
    /// What is done when a node asks for a new look.
    var onLook: (@LoopActor () -> Void)?

    /// What a node knows.
    func reader(_ number: Int64) throws -> BookReader {
        let reader = BookReader(try Self.id(number), self)
        readers.append(reader)
        return reader
    }

    /// A node is there.
    func join(_ number: Int64, at address: String) throws {
        let id = try Self.id(number)
        view.nodes[id] = NodeRecord(
            id: id, address: address,
            joinedAt: Timestamp(milliseconds: PlaceBook.joinedAt(number)))
        tell()
    }

    /// When a node of this number has joined, in milliseconds.
    nonisolated static func joinedAt(_ number: Int64) -> Int64 { 1_700_000_000_000 + number }

    /// A node is gone, and nobody has its tenants.
    func lose(_ number: Int64) throws {
        let id = try Self.id(number)
        view.nodes[id] = nil
        view.owners = view.owners.filter { $0.value != id }
        tell()
    }

    /// All nodes are cut off from what they share, or are so no more.
    func cutOff(_ isCutOff: Bool) { for reader in readers { reader.isCutOff = isCutOff } }

    /// A node has a tenant; nil for nobody.
    func give(_ tenant: TenantID, to number: Int64?) throws {
        view.owners[tenant] = try number.map(Self.id)
        tell()
    }

    fileprivate func setDraining(_ isDraining: Bool, of node: NodeID) -> NodeRecord? {
        view.nodes[node]?.isDraining = isDraining
        return view.nodes[node]
    }

    private func tell() { for reader in readers { reader.onChange?() } }

    private static func id(_ number: Int64) throws -> NodeID {
        guard let id = NodeID(number) else { throw NoNode() }
        return id
    }

    private struct NoNode: Error {}
}

/// What a node knows of a book.
@LoopActor
final class BookReader: TenantPlaces {
    let own: NodeID
    fileprivate(set) var isCutOff = false
    var onChange: (@LoopActor () -> Void)?
    private let book: PlaceBook

    init(_ own: NodeID, _ book: PlaceBook) {
        self.own = own
        self.book = book
    }

    var view: NodeView { book.view }

    var nodes: [NodeRecord] { view.nodes.values.sorted { $0.id < $1.id } }

    func knownPlace(of tenant: TenantID) -> TenantPlace? {
        guard let owner = view.owners[tenant] else { return nil }
        return owner == own ? .here : view.nodes[owner].map(TenantPlace.at)
    }

    func place(
        of tenant: TenantID, isPassedOn: Bool
    ) async throws(GatewayError) -> TenantPlace {
        guard let place = knownPlace(of: tenant), place == .here || !isPassedOn else {
            throw .tenantIsMoving
        }
        return place
    }

    func lookSoon() {
        book.looks += 1
        book.onLook?()
    }

    func caughtUp() async { book.catchUps += 1 }

    func setDraining(
        _ isDraining: Bool, of node: NodeID
    ) async throws(GatewayError) -> NodeRecord {
        guard let record = book.setDraining(isDraining, of: node) else { throw .noSuchNode }
        return record
    }
}
