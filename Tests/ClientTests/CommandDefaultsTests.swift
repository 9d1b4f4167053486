import Foundation
import TestSupport
import Testing

@testable import Client

/// Options that a user wants always.
struct CommandDefaultsTests {
    let home: TemporaryDirectory

    init() throws {
        home = try TemporaryDirectory()
    }

    /// As swift-argument-parser describes a command.
    private static let options = CommandOptions(
        describedBy: """
            {"command": {"arguments": [
                {"kind": "positional"},
                {"kind": "option", "names": [{"kind": "short", "name": "d"},
                                             {"kind": "long", "name": "directory"}]},
                {"kind": "option", "names": [{"kind": "short", "name": "H"},
                                             {"kind": "long", "name": "header"}]},
                {"kind": "option", "names": [{"kind": "short", "name": "j"},
                                             {"kind": "long", "name": "parallel"}]},
                {"kind": "option", "names": [{"kind": "long", "name": "on-complete"}]},
                {"kind": "option", "names": [{"kind": "long", "name": "checksum"},
                                             {"kind": "long", "name": "digest"}]},
                {"kind": "flag", "names": [{"kind": "short", "name": "c"},
                                           {"kind": "long", "name": "continue"}]},
                {"kind": "flag", "names": [{"kind": "long", "name": "no-continue"}]},
                {"kind": "flag", "names": [{"kind": "long", "name": "verbose"},
                                           {"kind": "short", "name": "v"}]},
                {"kind": "flag", "names": [{"kind": "long", "name": "quiet"},
                                           {"kind": "short", "name": "q"}]}]}}
            """)

    /// What becomes of a command line where the user's file says `text`.
    private func applied(
        _ text: String, _ words: [String], idle: Set<String> = []
    ) throws -> [String] {
        try FileManager.default.createDirectory(
            atPath: home.file(".config/ferry"), withIntermediateDirectories: true)
        try home.write(".config/ferry/config.json", Array(text.utf8))
        return try CommandDefaults.read(environment: ["HOME": home.path]).applied(
            to: words, options: Self.options, idle: { _ in idle })
    }

    @Test func `a user's file gives options, and what is typed outranks it`() throws {
        #expect(
            try CommandDefaults.read(environment: ["HOME": home.path]).applied(
                to: ["get", "u"], options: Self.options) == ["get", "u"])
        let text = """
            {"get": {"directory": "/d d", "parallel": 3, "onComplete": "x", "verbose": true,
                     "quiet": false, "header": ["A: b", "C: d"]}}
            """
        #expect(
            try applied(text, ["get", "u", "--parallel=9"]) == [
                "get", "--directory=/d d", "--on-complete=x", "--verbose", "--header=A: b",
                "--header=C: d", "u", "--parallel=9",
            ])
        #expect(try applied(text, ["put", "u"]) == ["put", "u"])
        #expect(
            try applied(text, ["get", "u"], idle: ["directory", "header", "verbose"]) == [
                "get", "--parallel=3", "--on-complete=x", "u",
            ])
    }

    @Test(
        arguments: [
            (["-H", "X: y"], "header"), (["-HX: y"], "header"), (["-vqHX: y"], "header"),
            (["--header", "X: y"], "header"), (["-d/e"], "directory"),
            (["-vd", "/e"], "directory"),
            (["-j9"], "parallel"), (["-cv"], "verbose"), (["-c"], "continue"),
            (["--no-continue"], "continue"), (["--digest=x"], "checksum"),
        ] as [([String], String)])
    func `what is typed by another of its names outranks the default, too`(
        _ typed: [String], _ name: String
    ) throws {
        let text = """
            {"get": {"header": "A: b", "directory": "/d", "parallel": 3, "verbose": true,
                     "continue": true, "digest": "y"}}
            """
        let all = try applied(text, ["get", "u"]).dropFirst().dropLast()
        let words = try applied(text, ["get"] + typed + ["u"]).dropFirst().dropLast(typed.count + 1)
        let outranked = all.filter { $0 == "--" + name || $0.hasPrefix("--\(name)=") }
        #expect(outranked.count == 1)
        let hidden = typed == ["-vqHX: y"] || typed == ["-vd", "/e"] ? ["--verbose"] : []
        let both = typed == ["-cv"] ? ["--continue"] : []
        #expect(Array(words) == all.filter { !(outranked + hidden + both).contains($0) })
    }

    @Test(arguments: [["--", "-H"], ["-d", "-"], ["a-H"], ["-xH"]])
    func `what only looks like an option outranks nothing`(_ typed: [String]) throws {
        let words = try applied(#"{"get": {"header": "A: b"}}"#, ["get"] + typed)
        #expect(words == ["get", "--header=A: b"] + typed)
    }

    @Test func `false turns off what is on by itself`() throws {
        let text = #"{"get": {"continue": false, "quiet": false}}"#
        #expect(try applied(text, ["get", "u"]) == ["get", "--no-continue", "u"])
        #expect(try applied(text, ["get", "-c", "u"]) == ["get", "-c", "u"])
    }

    @Test(arguments: ["[]", "{", #"{"get": 1}"#, #"{"get": {"quiet": {}}}"#, #"{"get": {"a": 1}}"#])
    func `a file that is spoilt is named, and so is what it says that means nothing`(
        _ text: String
    ) {
        #expect {
            try applied(text, ["get"])
        } throws: { error in
            "\(error)".contains("config.json") && (error as? ClientError)?.exitStatus == .usage
        }
    }
}
