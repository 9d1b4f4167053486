import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// What one process leaves to the next one, and that one to a third.
extension CookieStorageTests {
    @Test @LoopActor
    func `what is changed after a restart is what the next one finds (S-1)`() async throws {
        var house = try await House.open()
        let session = try await house.session()
        try await house.visit(in: session, setting: "a=1", "b=2", "c=3", "d=4")
        try await house.deleteCookies("a", in: session)
        house = try await house.restarted()
        #expect(try house.jar(session) == ["b=2", "c=3", "d=4"])
        try await house.deleteCookies("b", in: session)
        try await house.store("c=5", in: session)
        try await house.store("e=6", in: session)
        #expect(try house.jar(session) == ["c=5", "d=4", "e=6"])
        #expect(try await house.storedCookies(session) == ["c=5", "d=4", "e=6"])
        house = try await house.restarted()
        #expect(try house.jar(session) == ["c=5", "d=4", "e=6"])
        #expect(try await house.visit(in: session) == "c=5; d=4; e=6")
    }

    @Test @LoopActor
    func `what ended while no process ran is gone, from the disk too`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        try await house.visit(in: session, setting: "short=1; Max-Age=10", "long=2; Max-Age=20")
        house.clock.advance(by: .seconds(10))
        let next = try await house.restarted()
        #expect(try next.jar(session) == ["long=2"])
        await next.gateway.keepHouse()
        await next.quiet()
        #expect(try await next.storedCookies(session) == ["long=2"])
    }
}
