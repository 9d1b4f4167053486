internal import Glibc

/// Which failures are for want of a way to the server's network: the machine's own state, which
/// changes with its interfaces, addresses and routes. All else is about the server, and waiting for
/// connectivity would not mend it.
///
/// `waitsForConnectivity` is "relevant only during the establishment of a connection"
/// (<https://developer.apple.com/documentation/foundation/urlsessionconfiguration/waitsforconnectivity>):
/// a connection that is lost later is none of these, nor is one that was refused, nor one that
/// nobody answers in time.
public enum RouteFailure {
    /// Whether connect(2) failed with it because no interface leads to the address. `EHOSTUNREACH`
    /// is both a route that says so and a neighbour that does not answer: Linux has one number for
    /// them.
    public static func isLackOfRoute(osErrno: Int32) -> Bool {
        switch osErrno {
        case ENETDOWN, ENETUNREACH, EHOSTUNREACH: true
        default: false
        }
    }

    /// Whether a name was not found because nobody could be asked.
    ///
    /// The resolver's own reason is lost in libcurl: what tells is that this machine has no default
    /// route. So there a mistyped name is waited for like any other, also where a local network has
    /// a resolver that denies it, for as long as the task may take. Only for the names that the
    /// gateway looks up itself, those of which SOCKS 4 and 5 get the address, is a resolver's "no
    /// such name" (`EAI_NONAME`, `EAI_NODATA`) known, and not waited out.
    ///
    /// - Parameters:
    ///   - host: what was looked up. Names of `.invalid` exist nowhere (RFC 6761 §6.4), so that
    ///     these are not waited for.
    ///   - hasWayOut: whether there is a default route.
    /// - Returns: whether a task that waits for connectivity waits for it.
    public static func isLackOfRoute(lookingUp host: String, hasWayOut: Bool) -> Bool {
        let name = host.asciiLowercased.droppingFinalDot
        return !hasWayOut && name != "invalid" && !name.hasSuffix(".invalid")
    }
}

extension TransferError {
    /// Whether no connection was made for want of a way to the server's network (S-26): a task of a
    /// session that waits for connectivity waits, in place of failing with it.
    public var isLackOfRoute: Bool { kind == .url(.notConnectedToInternet) }
}
