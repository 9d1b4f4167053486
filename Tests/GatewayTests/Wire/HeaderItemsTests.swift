import Testing

@testable import REST

/// Lists in header fields.
struct HeaderItemsTests {
    @Test func `the items of all values, in their order, with the space around them`() {
        #expect(["a, b", "c"].items() == ["a", " b", "c"])
        #expect(["", ",,"].items().isEmpty)
        #expect(["x=1; y=2"].items(separatedBy: UInt8(ascii: ";")) == ["x=1", " y=2"])
    }

    @Test func `so many are looked at, over all values, and none that is long`() {
        let many = Array(repeating: String(repeating: "a,", count: 15_000), count: 3)
        #expect(many.items() == Array(repeating: "a", count: 50))
        #expect(["a,b,c", "d,e"].items(limit: 4) == ["a", "b", "c", "d"])
        let long = String(repeating: "b", count: 256)
        #expect(["a,\(long),c"].items() == ["a", "c"])
        #expect([long].items(size: 256).count == 1)
    }

    @Test func `of the media types that are told first, the better one is preferred`() {
        #expect(
            Accept(["text/html;q=0.9, text/plain;q=0.5"]).prefers("text/html", to: "text/plain"))
        #expect(!Accept(["text/plain, text/*;q=0.1"]).prefers("text/html", to: "text/plain"))
        let late = String(repeating: "a/b,", count: 60) + "text/html"
        #expect(!Accept([late]).prefers("text/html", to: "text/plain"))
    }
}
