import Semantics
import Testing

/// S-83: where a credential goes unasked.
struct ProtectionScopeTests {
    @Test(
        arguments: [
            ("/docs/index.html", "/docs/", true), ("/docs/index.html", "/docs/test.doc", true),
            ("/docs/index.html", "/docs/a/b", true), ("/docs/index.html", "/docs", false),
            ("/docs/index.html", "/other/x", false), ("/docs/index.html", "/docs2/x", false),
            ("/docs/index.html", "/DOCS/x", false), ("/docs/", "/docs/x", true), ("/a", "/b", true),
            ("/", "/deep/er", true), ("/a//b", "/a/x", false),
        ])
    func `RFC 7617 §2.2: Basic is for all paths up to the last slash`(
        asked: String, path: String, isInside: Bool
    ) {
        #expect(ProtectionScope(basicAt: asked).contains(path) == isInside)
    }

    @Test(
        arguments: [
            (nil, "/anything", true), (["/a"], "/a", true), (["/a"], "/a/b", true),
            (["/a"], "/ab", false), (["/a/"], "/a", false), (["/x", "/b"], "/b/c", true),
            (["/x"], "/asked/y", false), (["/"], "/y", true),
            // All that it names is elsewhere: what is known is where it was asked for.
            ([], "/asked/y", true), ([], "/y", false),
        ] as [([String]?, String, Bool)])
    func `RFC 7616 §3.3: Digest is for its domain, or for the whole server`(
        domain: [String]?, path: String, isInside: Bool
    ) {
        let scope = ProtectionScope(digestAt: "/asked/x", domain: domain)
        #expect(scope.contains(path) == isInside)
    }

    @Test(arguments: [
        "/docs/../secret", "/docs/%2e%2E/secret", "/docs/.%2e/secret", "/docs/..%2fsecret",
        "/docs/x%5c..%5csecret", "/docs\\..\\secret", "/docs/%2e/x",
    ])
    func `a path that may lead out of a part of a server is not in it`(path: String) {
        #expect(!ProtectionScope(basicAt: "/docs/x").contains(path))
        #expect(ProtectionScope.everything.contains(path))
        #expect(ProtectionScope(basicAt: "/docs/x").contains("/docs/..x%2e/%zz"))
    }

    @Test func `the longest prefix tells how near a scope is`() {
        let scope = ProtectionScope(prefixes: ["/", "/a/", "/a/b/", "/c"])
        #expect(scope.match("/a/b/c") == 5 && scope.match("/a/x") == 3 && scope.match("/x") == 1)
        #expect(ProtectionScope.everything.match("/a") == 0)
        #expect(ProtectionScope(prefixes: ["/a/"]).match("/b") == nil)
    }
}
