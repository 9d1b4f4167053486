import Semantics
import TestSupport
import Testing

/// Trace Context (W3C): what is taken, and what is sent on.
struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"
    private static let usual = "00-\(trace)-\(span)-01"

    @Test(arguments: [
        (usual, usual), ("00-\(trace)-\(span)-00", "00-\(trace)-\(span)-00"),
        // Flags that nobody knows are not sent on (§3.2.2.5.3).
        ("00-\(trace)-\(span)-ff", "00-\(trace)-\(span)-03"),
        // A later version is read as far as it is known (§3.2.4).
        ("01-\(trace)-\(span)-03", "00-\(trace)-\(span)-01"),
        ("cc-\(trace)-\(span)-01-what-comes-then", usual),
    ])
    func `what is well formed is taken`(text: String, sent: String) throws {
        let context = try #require(TraceContext(parent: text))
        #expect(context.parent == sent && context.traceID == Self.trace)
        #expect(context.parentID == Self.span && context.state == nil)
    }

    @Test(arguments: [
        "", "00", usual.uppercased(), usual + "-", usual + "0", "ff-\(trace)-\(span)-01",
        "0-\(trace)-\(span)-01", "00-\(String(repeating: "0", count: 32))-\(span)-01",
        "00-\(trace)-\(String(repeating: "0", count: 16))-01", "00-\(trace)-\(span)-0g",
        "00-\(trace.dropLast())-\(span)-01", "00-\(trace)-\(span)", " " + usual, usual + " ",
        "00_\(trace)-\(span)-01", "00-\(trace)-\(span)-1", "01-\(trace)-\(span)-01x",
        "00-\(trace)-\(span)-é1", "+0-\(trace)-\(span)-01", "00-\(trace)-\(span)-+1",
    ])
    func `what is not counts as none`(text: String) {
        #expect(TraceContext(parent: text) == nil)
    }

    @Test(
        arguments: [
            (["a=1"], "a=1"), (["a=1, b=2", "c@d=x y"], "a=1,b=2,c@d=x y"),
            ([" a=1\t,,\t", ""], "a=1"), (["0z_-*/=!~"], "0z_-*/=!~"), ([], nil), ([""], nil),
            (["a=1,a=2"], nil), (["A=1"], nil), (["a"], nil), (["=1"], nil), (["a="], nil),
            (["a=1=2"], nil), (["a=\u{1}"], nil), (["_a=1"], nil),
            (
                [(0..<32).map { "k\($0)=1" }.joined(separator: ",")],
                (0..<32).map { "k\($0)=1" }.joined(separator: ",")
            ),
            ([(0..<33).map { "k\($0)=1" }.joined(separator: ",")], nil),
            (["a=" + String(repeating: "x", count: 257)], nil),
            (
                [
                    "a=" + String(repeating: "x", count: 256),
                    "b=" + String(repeating: "x", count: 256),
                ], nil
            ),
        ] as [([String], String?)])
    func `tracestate is kept whole or not at all`(values: [String], kept: String?) {
        #expect(TraceContext(parent: Self.usual, states: values)?.state == kept)
    }

    @Test func `each span sent on is another one of the same trace`() throws {
        var generator = SeededGenerator(3)
        let context = try #require(TraceContext(parent: Self.usual, states: ["a=1"]))
        var spans: Set<String> = [Self.span]
        for _ in 0..<100 {
            let fields = context.fields(using: &generator)
            #expect(fields.map(\.name) == ["traceparent", "tracestate"])
            let sent = try #require(
                TraceContext(parent: fields[0].value, states: [fields[1].value]))
            #expect(sent.traceID == Self.trace && sent.flags == 1 && sent.state == "a=1")
            #expect(spans.insert(sent.parentID).inserted)
        }
        #expect(context.from(span: 0xAB).parent == "00-\(Self.trace)-00000000000000ab-01")
    }
}
