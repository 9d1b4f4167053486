import Metrics
import Testing

/// Metrics as values, and Prometheus' text format.
struct ExpositionTests {
    private func text(_ write: (inout Exposition) -> Void) -> String {
        var page = Exposition()
        write(&page)
        return String(decoding: page.bytes, as: UTF8.self)
    }

    @Test func `a family has its help, its type and its samples`() {
        var bytes = Counter()
        bytes.add(40)
        bytes.add()
        bytes.add()
        let page = text { page in
            page.counter("a_total", "What was counted.", bytes.value)
            page.gauges("b", "What there is.", by: "kind", [("x", 1), ("y", 0)])
        }
        #expect(
            page == """
                # HELP a_total What was counted.
                # TYPE a_total counter
                a_total 42
                # HELP b What there is.
                # TYPE b gauge
                b{kind="x"} 1
                b{kind="y"} 0

                """)
    }

    @Test func `a bucket has what is in the smaller ones, and its own end`() {
        var times = Histogram(.seconds(microseconds: [1000, 500_000]))
        for value in [Duration.zero, .milliseconds(1), .nanoseconds(1_000_001), .seconds(9)] {
            times.observe(value)
        }
        #expect(times.count == 4)
        let page = text { page in
            page.family("t_seconds", .histogram, "Times.") { $0.add(times, [("route", "/a")]) }
        }
        #expect(
            page == """
                # HELP t_seconds Times.
                # TYPE t_seconds histogram
                t_seconds_bucket{route="/a",le="0.001"} 2
                t_seconds_bucket{route="/a",le="0.5"} 3
                t_seconds_bucket{route="/a",le="+Inf"} 4
                t_seconds_sum{route="/a"} 9.002000001
                t_seconds_count{route="/a"} 4

                """)
    }

    @Test func `a histogram of numbers shows them as they are`() {
        var sizes = Histogram(.counts([1, 10]))
        for size: Int64 in [1, 2, 10, 11] { sizes.observe(size) }
        let page = text { $0.histogram("n", "Numbers.", sizes) }
        #expect(page.contains("n_bucket{le=\"1\"} 1\nn_bucket{le=\"10\"} 3\n"))
        #expect(page.hasSuffix("n_bucket{le=\"+Inf\"} 4\nn_sum 24\nn_count 4\n"))
    }

    @Test func `what would end a label's value is escaped`() {
        let page = text { page in
            page.counters("a_total", "A.", by: "l", [("q\"b\\n\nx{},", 1)])
        }
        #expect(page.hasSuffix("a_total{l=\"q\\\"b\\\\n\\nx{},\"} 1\n"))
    }

    @Test func `labels are counted apart`() {
        var outcomes = LabelledCounter<String>()
        for label in ["a", "b", "a"] { outcomes.add(label) }
        #expect(outcomes.values == ["a": 2, "b": 1] && outcomes.total == 3)
    }
}
