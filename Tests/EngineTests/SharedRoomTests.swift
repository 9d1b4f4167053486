import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Memory that tenants share.
@Suite(.onLoop)
struct SharedRoomTests {
    @Test @LoopActor
    func `no tenant takes all, and what is given back is there again`() {
        let room = SharedRoom(limit: 100)
        let tenants = (1...3).map { TenantID(rawValue: $0) }
        var taken: [Int] = []
        for tenant in tenants {
            var count = 0
            while room.admits(1, of: tenant) {
                room.change(by: 1, of: tenant)
                count += 1
            }
            taken.append(count)
        }
        #expect(taken == [75, 19, 5] && room.free == 1)
        room.change(by: -75, of: tenants[0])
        #expect(room.admits(59, of: tenants[1]) && !room.admits(78, of: tenants[2]))
        var permit = room.permit(for: tenants[2])
        #expect(permit != nil && room.used == 25)
        permit = nil
        #expect(room.used == 24)
    }

    @Test @LoopActor
    func `requests of tasks that wait take so much memory, and no more`() async throws {
        var limits = GatewayLimits()
        limits.requestBytes = 1 << 20
        let harness = try await TestGateway.open(limits: limits)
        let session = try await harness.session()
        let body = BodyRecord.bytes([UInt8](repeating: 1, count: 100_000))
        let spec = try harness.spec(.data, method: "POST", body: body) {
            $0.earliestBeginDate = Timestamp(milliseconds: .max / 2)
        }
        var tasks: [TaskID] = []
        await #expect(throws: GatewayError.requestsFull) {
            while tasks.count < 100 { tasks.append(try await harness.create(spec, in: session)) }
        }
        #expect(tasks.count == 8)
        // At rest the store alone has it.
        var resting = spec
        resting.resume = false
        let rest = try await harness.create(resting, in: session)
        await #expect(throws: GatewayError.requestsFull) {
            try await harness.gateway.tasks.resume(rest, of: harness.tenant)
        }
        var mirrored = try harness.spec(.download, resume: true)
        let text = "http://mirror.test/" + String(repeating: "a", count: 16_000)
        mirrored.options.mirrors = Array(repeating: try harness.network.parse(text), count: 16)
        await #expect(throws: GatewayError.requestsFull) {
            try await harness.create(mirrored, in: session)
        }
        _ = try await harness.gateway.tasks.cancel(tasks[0], of: harness.tenant)
        _ = try await harness.finished(tasks[0])
        _ = try await harness.create(spec, in: session)
        for task in tasks.dropFirst() {
            _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
            _ = try await harness.finished(task)
        }
        #expect(harness.gateway.tasks.directory.requests.used < 200_000)
    }

    @Test @LoopActor
    func `an idempotency key in memory counts (R-10)`() async throws {
        let store = MemoryStore()
        let tenant = TenantID(rawValue: 1)
        func keep(_ key: String) async throws {
            var batch = StoreBatch()
            batch.creations = [
                IdempotencyRecord(
                    tenant: tenant, key: key, fingerprint: [1], created: [1],
                    at: KeptTime(milliseconds: 0))
            ]
            try await store.commit(batch)
        }
        try await keep("a")
        let one = store.byteCount
        #expect(one > 0)
        try await keep("b")
        #expect(store.byteCount == 2 * one)
    }
}
