import Semantics
import Testing

/// Which tasks a list or an action is about.
struct TaskFilterTests {
    private static let task: SearchedTask = {
        var task = SearchedTask(createdAt: Timestamp(milliseconds: 1000))
        task.url = "https://example.com/Caf%C3%A9/big%20File.ISO?Size=1"
        task.host = "example.com"
        task.description = "Nightly Überblick"
        task.fileName = "report.pdf"
        task.suggestedFilename = "\u{65}\u{301}t\u{E9}.txt"
        task.metadata = ["job": "7", "empty": ""]
        return task
    }()

    @Test(arguments: [
        ("", true), ("EXAMPLE", true), ("file.iso", true), ("size=1", true), ("NIGHTLY", true),
        ("report.PDF", true), (".txt", true), ("caf%c3%a9", true), ("CAFÉ", true),
        ("big file", true), ("ÜBERBLICK", true), ("überb", true), ("ÉTÉ", true),
        ("examples", false), ("nightly  ", false), ("ö", false), ("%%", false),
        ("https://example.com/Caf%C3%A9/big%20File.ISO?Size=12", false),
    ])
    func `a text is found in URL, description and file names, whatever its case`(
        text: String, isFound: Bool
    ) {
        var filter = TaskFilter()
        filter.text = SearchText(text)
        #expect(filter.fits(Self.task) == isFound)
    }

    @Test func `a task without words is found by its URL alone`() {
        var filter = TaskFilter()
        filter.text = SearchText("report")
        #expect(!filter.fits(SearchedTask(createdAt: Timestamp(milliseconds: 0))))
    }

    private static let fitting: [@Sendable (inout TaskFilter) -> Void] = [
        { $0.host = "example.com" }, { $0.host = "EXAMPLE.com" },
        { $0.createdAfter = Timestamp(milliseconds: 999) },
        { $0.createdBefore = Timestamp(milliseconds: 1001) }, { $0.hasError = false },
        { $0.metadata = ["job": "7"] }, { $0.metadata = ["job": "7", "empty": ""] },
        { $0.text = SearchText("iso") },
    ]

    private static let others: [@Sendable (inout TaskFilter) -> Void] = [
        { $0.host = "ample.com" }, { $0.createdAfter = Timestamp(milliseconds: 1000) },
        { $0.createdBefore = Timestamp(milliseconds: 1000) }, { $0.hasError = true },
        { $0.metadata = ["job": "8"] }, { $0.metadata = ["job": "7", "none": ""] },
        { $0.text = SearchText("exe") },
    ]

    @Test func `what is asked for must all fit, and instants are left out`() {
        var all = TaskFilter()
        #expect(all.isEmpty && all.fits(Self.task))
        for change in Self.fitting {
            var filter = TaskFilter()
            change(&filter)
            change(&all)
            #expect(!filter.isEmpty && filter.fits(Self.task) && all.fits(Self.task))
        }
        for change in Self.others {
            var filter = all
            change(&filter)
            #expect(!filter.fits(Self.task))
        }
    }

    @Test func `a filter sees a whole task as it sees what is searched of it`() {
        var options = TaskOptions()
        options.description = "d"
        options.fileName = "f"
        options.metadata = ["k": "v"]
        var task = TaskRecord(
            id: TaskID(rawValue: 1), tenant: .operatorTenant, session: SessionID(rawValue: 2),
            number: 1, type: .data, options: options,
            request: RequestRecord(
                url: WebURL(string: "http://h/p", scheme: "http", host: "h", port: 80, path: "/p")),
            createdAt: Timestamp(milliseconds: 5))
        task.error = .url(.timedOut)
        let searched = SearchedTask(task)
        #expect(searched.url == "http://h/p" && searched.host == "h")
        #expect(searched.description == "d" && searched.fileName == "f" && searched.hasError)
        #expect(searched.metadata == ["k": "v"] && searched.createdAt.milliseconds == 5)
        #expect(searched.suggestedFilename == nil)
    }

    @Test(arguments: [
        ("a", true), ("job.id_2-X", true), (String(repeating: "k", count: 64), true), ("", false),
        (String(repeating: "k", count: 65), false), ("a b", false), ("ä", false), ("a/b", false),
        ("a*", false),
    ])
    func `a name of metadata is short and plain`(name: String, isKey: Bool) {
        #expect(Metadata.isKey(name) == isKey)
    }

    @Test func `a change of metadata leaves what it does not name, and is whole or nothing`() {
        let old = ["a": "1", "b": "2"]
        #expect(Metadata.merge([:], into: old) == old)
        #expect(Metadata.merge(["a": nil, "c": "3", "x": nil], into: old) == ["b": "2", "c": "3"])
        let many = Dictionary(uniqueKeysWithValues: (0..<16).map { ("k\($0)", "") })
        #expect(Metadata.merge(["k0": "new"], into: many)?["k0"] == "new")
        #expect(Metadata.merge(["l": ""], into: many) == nil)
        #expect(Metadata.merge(["l": "", "k1": nil], into: many)?.count == 16)
    }
}
