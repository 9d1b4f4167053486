import Semantics
import Testing

/// Where a download may be saved, and what it is called there.
struct SaveDestinationTests {
    @Test(arguments: [
        ("a", true), ("a.flac", true), ("a/b c/ö.flac", true), ("...", true), ("..a", true),
        (".hidden", true), (String(repeating: "x", count: 255), true),
        ("", false), ("/a", false), ("a/", false), ("a//b", false), (".", false), ("a/.", false),
        ("..", false), ("../a", false), ("a/../b", false), ("a/..", false), ("a\u{0}", false),
        ("a\nb", false), ("a\u{7F}", false), (String(repeating: "x", count: 256), false),
        (String(repeating: "ä", count: 128), false), (".ferry-tsk_1", false),
        ("a/.ferry-", false), ("../\u{301}x", false), ("a/../\u{301}x", false),
        ("/\u{301}x", false), ("a\u{600}/..", false), ("..\u{200D}/../a", false),
        ("a/\u{301}x", true), (String(repeating: "y/", count: 2000) + "z", false),
    ])
    func `a path leads below its folder and nowhere else`(path: String, isOne: Bool) {
        #expect(SaveDestination.isPath(path) == isOne)
    }

    @Test(arguments: [
        ("a.flac", 0, "a.flac"), ("a.flac", 1, "a (1).flac"), ("b/a.tar.gz", 2, "b/a.tar (2).gz"),
        ("a", 1, "a (1)"), (".hidden", 1, ".hidden (1)"), ("v1.0/readme", 1, "v1.0/readme (1)"),
        ("b/.c.d", 12, "b/.c (12).d"), ("b/\u{301}c.d", 1, "b/\u{301}c (1).d"),
    ])
    func `a name that is taken gets a number in front of its extension`(
        path: String, number: Int, name: String
    ) {
        let destination = SaveDestination(folder: "music", path: path, ifExists: .rename)
        #expect(destination.path(attempt: number) == name)
    }

    @Test func `a numbered name is cut between characters to fit`() {
        let path = "d/" + String(repeating: "ä", count: 125) + "x.bin"
        let name = SaveDestination(folder: "f", path: path).path(attempt: 10).dropFirst(2)
        #expect(name.hasSuffix("ä (10).bin"))
        #expect((254...255).contains(name.utf8.count))
        let long = "a." + String(repeating: "b", count: 253)
        let cut = SaveDestination(folder: "f", path: long).path(attempt: 1)
        #expect(cut.hasSuffix("b (1)") && cut.utf8.count == 255)
    }

    @Test func `a path is split where file systems split it`() {
        #expect(SaveDestination.names(of: "a/\u{301}b/c") == ["a", "\u{301}b", "c"])
        #expect(SaveDestination.names(of: "a\u{600}/b") == ["a\u{600}", "b"])
    }
}
