import Glibc
import Loop
import TestSupport
import Testing

@testable import HTTP

/// Names that are looked up at the same time.
@Suite struct NameLookupTests {
    @Test func `a name that takes long has one look-up, and holds up no other name`() async throws {
        LoopActor.loop.start()
        let (looked, told, gate) = (Calls(), Calls(), Gate())
        defer { gate.open() }
        let names = await NameLookups { name in
            looked.count(name)
            while name == "slow", !gate.isOpen { usleep(1000) }
            return .failure(SocketAddress.LookUpError(code: CInt(name.utf8.count)))
        }
        for _ in 0..<50 { await names.find("slow") { told.count("slow: \($0)") } }
        await names.find("quick") { told.count("quick: \($0)") }
        let words = { (name: String) in
            "\(name): \(NameLookups.Outcome.failure(SocketAddress.LookUpError(code: CInt(name.utf8.count))))"
        }
        try await eventually { told[words("quick")] == 1 && looked["slow"] == 1 }
        #expect(told[words("slow")] == 0)
        gate.open()
        try await eventually { told[words("slow")] == 50 }
        // Each time anew.
        await names.find("slow") { told.count("slow: \($0)") }
        try await eventually { told[words("slow")] == 51 }
        #expect(looked["slow"] == 2)
    }
}
