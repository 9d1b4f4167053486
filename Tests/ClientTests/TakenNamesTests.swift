import Testing

@testable import Client

/// Which of the downloads of a command gets a name that several have.
struct TakenNamesTests {
    @Test func `of URLs that end alike the first gets the name, whoever asks first`() throws {
        let names = TakenNames(of: ["http://a/x/same?1", "http://b/other", "http://c/same#2"])
        let claims = (0..<3).map { NameClaim(names, $0) }
        #expect(claims.map(\.isTurn) == [true, true, false])
        try claims[0].take("d/same")
        #expect(claims[2].isTurn)
        #expect {
            try claims[2].take("d/same")
        } throws: { error in
            let error = error as? ClientError
            return error?.exitStatus == .cannotWrite
                && error?.description.contains("http://a/x/same?1 in this command") == true
        }
        // A download that is begun anew has its name already.
        try claims[0].take("d/same")
        try claims[1].take("d/other")
    }

    @Test func `who ends without a name holds nobody up`() throws {
        let names = TakenNames(of: ["http://a/", "http://b/", "c"])
        let claims = (0..<3).map { NameClaim(names, $0) }
        #expect(claims.map(\.isTurn) == [true, false, false])
        claims[0].settle()
        #expect(claims[1].isTurn && !claims[2].isTurn)
        claims[1].settle()
        try claims[2].take("download")
    }
}
