@testable import Curl
import Loop
import Semantics
import TestSupport
import Testing

/// What is remembered of the names that SOCKS proxies get addresses of.
@Suite struct AddressBooks {
    init() { TestLoop.start() }

    private static let known: [String: [IPAddress]] = [
        "a.example": [.v4(1), .v6(1)], "b.example": [.v4(2)], "c.example": [.v4(3)],
    ]

    @LoopActor
    private func find(_ host: String, in book: AddressBook) async -> [IPAddress]? {
        await withCheckedContinuation { continuation in
            book.find(host) { continuation.resume(returning: try? $0.get()) }
        }
    }

    @LoopActor
    @Test func `a name is good for a while`() async {
        let names = Names(Self.known)
        let book = AddressBook(AddressBook.Lookups(asking: names.resolver))
        for _ in 0..<2 { #expect(await find("a.example", in: book) == Self.known["a.example"]) }
        #expect(names.asked == ["a.example"])
        let forgetful = AddressBook(
            AddressBook.Lookups(asking: names.resolver), lifetime: .zero)
        for _ in 0..<2 { #expect(await find("b.example", in: forgetful) == [.v4(2)]) }
        #expect(names.asked == ["a.example", "b.example", "b.example"])
    }

    @LoopActor
    @Test func `a name that was not found is asked for again`() async {
        let names = Names()
        let book = AddressBook(AddressBook.Lookups(asking: names.resolver))
        for _ in 0..<2 { #expect(await find("d.example", in: book) == nil) }
        #expect(names.asked == ["d.example", "d.example"])
    }

    @LoopActor
    @Test func `a book has so many pages`() async {
        let names = Names(Self.known)
        let book = AddressBook(AddressBook.Lookups(asking: names.resolver), pageLimit: 2)
        for name in ["a.example", "b.example", "c.example", "c.example", "a.example"] {
            #expect(await find(name, in: book) == Self.known[name])
        }
        #expect(names.asked == ["a.example", "b.example", "c.example", "a.example"])
    }

    @LoopActor
    @Test func `who waits for an answer gets it, also when the book is full`() async throws {
        let names = Names(Self.known, isHeld: true)
        let book = AddressBook(AddressBook.Lookups(asking: names.resolver), pageLimit: 1)
        let found = Found()
        for name in ["a.example", "b.example", "a.example"] {
            book.find(name) { found.answers.append((name, try? $0.get())) }
        }
        try await eventually { names.asked.count == 2 }
        #expect(found.answers.isEmpty)
        names.letGo()
        names.letGo()
        try await eventually { found.answers.count == 3 }
        for (name, addresses) in found.answers { #expect(addresses == Self.known[name]) }
    }

    @LoopActor
    private final class Found {
        var answers: [(String, [IPAddress]?)] = []
    }

    @LoopActor
    @Test(arguments: [
        ("127.0.0.1", [IPAddress.v4(0x7f00_0001)]), ("::1", [.v6(1)]),
        ("localhost", [.v4(0x7f00_0001), .v6(1)]), ("a.localhost.", [.v4(0x7f00_0001), .v6(1)]),
    ])
    func `what every machine knows is not asked for (RFC 6761)`(
        host: String, addresses: [IPAddress]
    ) async {
        let names = Names([host: [.v4(9)]])
        let book = AddressBook(AddressBook.Lookups(asking: names.resolver))
        #expect(await find(host, in: book) == addresses)
        #expect(names.asked.isEmpty)
    }
}
