import Engine
import PSL
import Testing

/// The port's promise, on the list that this machine has (<https://publicsuffix.org/list/>).
struct LibPSLTests {
    private let suffixes: any PublicSuffixes

    init() throws {
        suffixes = try LibPSL()
    }

    @Test(arguments: [
        "com", "uk", "co.uk", "xn--p1ai", "xn--55qx5d.cn",  // registries, by A-labels too
        "github.io", "blogspot.com",  // hosting companies
        "ck", "anything.ck",  // the rule *.ck
    ])
    func `names under which others register are suffixes`(name: String) {
        #expect(suffixes.isPublicSuffix(name))
    }

    @Test(arguments: [
        "example.com", "www.example.com", "example.co.uk", "xn--e1afmkfd.xn--p1ai",
        "someone.github.io", "www.ck",  // the exception !www.ck
        "a.anything.ck",
    ])
    func `registered names are none`(name: String) {
        #expect(!suffixes.isPublicSuffix(name))
    }

    @Test func `a top-level name that no list knows is one, and what is below it is not`() {
        #expect(suffixes.isPublicSuffix("ferry-knows-no-such-tld"))
        #expect(suffixes.isPublicSuffix("localhost"))
        #expect(!suffixes.isPublicSuffix("example.ferry-knows-no-such-tld"))
    }

    @Test func `many may ask at once`() async {
        let suffixes = suffixes
        let answers = await withTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask {
                    (0..<2_000).count {
                        suffixes.isPublicSuffix("co.uk")
                            && !suffixes.isPublicSuffix("name\($0)-\(number).co.uk")
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(answers == 8 * 2_000)
    }
}
