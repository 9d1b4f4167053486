import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What belongs to a tenant that nobody knows: it reaches nothing, and goes.
@Suite(.onLoop)
struct StrayTenantTests {
    private static let other = TenantID(rawValue: 2)

    @Test @LoopActor
    func `a tenant that is not known reaches nothing, and nothing is made for it (X-1)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let directory = harness.gateway.tenants.directory
        let rule = directory.egress(of: Self.other)
        #expect(rule.narrowing == .nothing)
        #expect(!rule.narrowing.permits(host: "origin.test"))
        #expect(!rule.narrowing.permits(address: .v4(0x7F00_0001), port: 80))
        let refused = await outcome {
            try await harness.gateway.sessions.shared(of: Self.other)
        }
        #expect(refused.refusal == .noSuchTenant)
        harness.admit(Self.other)
        #expect(rule.narrowing.isEmpty, "who has asked before is told")
        _ = try await harness.gateway.sessions.shared(of: Self.other)
        directory.drop(Self.other)
        #expect(rule.narrowing == .nothing)
    }

    @Test @LoopActor
    func `what a store has of a tenant without a record goes at a start, and begins nothing`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(of: Self.other)
        let mine = try await harness.session()
        let spec = try harness.spec()
        _ = try await harness.gateway.tasks.create([spec], in: session, of: Self.other)
        _ = try await harness.gateway.files.create(StagedFileSpec(), of: Self.other)
        var token = TokenSpec(
            tenant: "tenant-2", scopes: [.tasks], digest: Array(repeating: 1, count: 32))
        token.description = "lost"
        _ = try await harness.gateway.tokens.create(token)
        _ = try await harness.network.attempt(0)
        await harness.quiet()
        var batch = StoreBatch()
        batch.removedTenants = [Self.other]
        try await harness.store.disk.commit(batch)

        let survivor = try await harness.crash()
        await survivor.gateway.start()
        survivor.gateway.housekeeper.stop()
        #expect(!survivor.gateway.tokens.lets(token.digest))
        try await eventually("nothing to be left of it") {
            let left = try await survivor.store.disk.load()
            return left.sessions.map(\.tenant) == [survivor.tenant] && left.files.isEmpty
                && left.tokens.isEmpty && left.tenantSequences[Self.other] == nil
        }
        #expect(survivor.network.attempts.isEmpty)
        #expect(survivor.gateway.sessions.directory[session] == nil)
        #expect(survivor.gateway.sessions.directory[mine] != nil)
        // Not before the store has it: the account goes last.
        try await eventually("its account to be closed") {
            await survivor.used(.sessions, Self.other) == 0
        }
    }

    @Test @LoopActor
    func `a damaged row says nothing of whose it is`() async throws {
        var contents = StoreContents()
        contents.tenantSequences = [Self.other: 1, TenantID(rawValue: 3): 1, .operatorTenant: 1]
        contents.damagedSessions = [SessionID(rawValue: 5): Self.other]
        #expect(contents.strayTenants == [TenantID(rawValue: 3)])
        contents.damagedTenants = [
            DamagedTenant(id: TenantID(rawValue: 3), name: nil, isEnding: false)
        ]
        #expect(contents.strayTenants.isEmpty)
        #expect(contents.restingTenants == [TenantID(rawValue: 3)])
    }
}

extension TokenService {
    fileprivate func lets(_ digest: [UInt8]) -> Bool { use(digest) != nil }
}
