import Glibc
import Semantics
import Testing

/// S-26: which failures a task waits out.
struct RouteFailureTests {
    @Test(arguments: [
        (ENETUNREACH, true), (ENETDOWN, true), (EHOSTUNREACH, true), (ECONNREFUSED, false),
        (ETIMEDOUT, false), (ECONNRESET, false), (EADDRNOTAVAIL, false), (EMFILE, false),
        (EACCES, false), (0, false),
    ])
    func `connecting without a way is no refusal`(osErrno: Int32, expected: Bool) {
        #expect(RouteFailure.isLackOfRoute(osErrno: osErrno) == expected)
    }

    @Test(arguments: [
        ("example.com", true), ("intranet", true), ("invalid.example", true),
        ("notinvalid", true), ("a.invalid", false), ("A.INVALID.", false), ("invalid", false),
    ])
    func `a name is waited for while there is no way out, if it may exist`(
        host: String, expected: Bool
    ) {
        #expect(RouteFailure.isLackOfRoute(lookingUp: host, hasWayOut: false) == expected)
        #expect(!RouteFailure.isLackOfRoute(lookingUp: host, hasWayOut: true))
    }

    @Test func `of the errors one is waited out`() {
        let waited = URLErrorCode.allCases.filter { TransferError.url($0).isLackOfRoute }
        #expect(waited == [.notConnectedToInternet])
        #expect(!TransferError.destinationDenied.isLackOfRoute)
    }
}
