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
    }

    @LoopActor
    @Test func `a name is good for a minute of the book's own clock (R-14)`() async {
        let names = Names(Self.known)
        let clock = Hand()
        let book = AddressBook(AddressBook.Lookups(asking: names.resolver)) { clock.now }
        for (passed, count) in [(0, 1), (59, 1), (1, 2), (59, 2)] {
            clock.now += .seconds(passed)
            #expect(await find("b.example", in: book) == [.v4(2)])
            #expect(names.asked.count == count)
        }
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
    @Test func `a book takes so many threads, and the others wait their turn`() async throws {
        let names = Names(Self.known, isHeld: true)
        let lookups = AddressBook.Lookups(asking: names.resolver)
        let (book, other) = (AddressBook(lookups, lookupLimit: 2), AddressBook(lookups))
        let found = Found()
        let hosts = (1...5).map { "\($0).example" }
        for host in hosts { book.find(host) { found.answers.append((host, try? $0.get())) } }
        // Asked last, and yet at once: nobody else's names are in the way.
        other.find("a.example") { found.answers.append(("a.example", try? $0.get())) }
        try await eventually { names.asked.count == 3 }
        #expect(Set(names.asked) == ["1.example", "2.example", "a.example"])
        for _ in 0..<6 { names.letGo() }
        try await eventually { found.answers.count == 6 }
        #expect(Set(names.asked.suffix(3)) == Set(hosts.suffix(3)))
    }

    @LoopActor
    @Test func `what nobody waits for any more is not looked up when its turn comes`() async throws
    {
        let names = Names(Self.known, isHeld: true)
        let book = AddressBook(AddressBook.Lookups(asking: names.resolver), lookupLimit: 1)
        let found = Found()
        for (host, isWaiting) in [
            ("a.example", true), ("b.example", false), ("c.example", false), ("c.example", true),
        ] {
            book.find(host, while: { isWaiting }) { found.answers.append((host, try? $0.get())) }
        }
        for _ in 0..<3 { names.letGo() }
        // Who comes to a name that another one waits for gets what it gets.
        try await eventually { found.answers.count >= 3 }
        #expect(names.asked == ["a.example", "c.example"])
        #expect(await find("b.example", in: book) == Self.known["b.example"])
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

/// A clock that its test sets.
@LoopActor
private final class Hand {
    var now = Duration.seconds(1000)
}
