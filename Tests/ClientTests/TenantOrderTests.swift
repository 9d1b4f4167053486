import Testing

@testable import Client

/// What `ferry tenants` takes of a command line.
struct TenantOrderTests {
    @Test func `a quota is given once`() throws {
        var order = TenantOrder()
        try order.addQuota("sessions=2")
        try order.addQuota("webhooks=none")
        #expect(throws: ClientError.badArgument("--quota sessions=3: sessions is given twice")) {
            try order.addQuota("sessions=3")
        }
        #expect(order.quotas.map(\.name) == ["sessions", "webhooks"])
    }

    @Test(arguments: [
        ("--only-host", "any"), ("--deny-host", "none"), ("--only-address", "any"),
        ("--deny-address", "none"),
    ])
    func `any and none stand alone`(option: String, word: String) throws {
        var order = TenantOrder()
        let set = { (places: [String]) throws(ClientError) in
            try order.setRules(
                onlyHosts: option == "--only-host" ? places : [],
                deniedHosts: option == "--deny-host" ? places : [],
                onlyAddresses: option == "--only-address" ? places : [],
                deniedAddresses: option == "--deny-address" ? places : [])
        }
        try set([word])
        try set(["a.example", "b.example"])
        for places in [[word, "a.example"], ["a.example", word], [word, word]] {
            let thrown = #expect(throws: ClientError.self) { try set(places) }
            let error = try #require(thrown)
            #expect("\(error)".contains("\(option) \(word)"))
        }
    }
}
