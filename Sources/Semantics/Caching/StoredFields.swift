internal import Syntax

/// Which header fields of a response are kept with it, and which a newer response may change (RFC
/// 9111 §3.1, §3.2).
enum StoredFields {
    /// What is kept of a response that is stored: all but what belongs to its connection or its
    /// proxy, and what `no-cache` lists by name. `Date` is there in any case and can be read (RFC
    /// 9110 §6.6.1).
    static func kept(of headers: HeaderList, receivedAt: Timestamp) -> HeaderList {
        dated(headers.removing(excluded(from: headers)), receivedAt)
    }

    /// The fields of a stored response after a 304, or a 200 to HEAD, said that it is still the one
    /// (§3.2).
    ///
    /// `Age` and `Date` are always those of the newer response: the age is counted from it
    /// (§4.2.3). `Content-Length` stays by rule. `Content-Encoding` stays because the bytes may
    /// have been decoded when they were kept, and `Content-Range` because what is kept is the
    /// whole.
    static func updated(
        _ stored: HeaderList, with newer: HeaderList, receivedAt: Timestamp
    ) -> HeaderList {
        let newer = kept(of: newer, receivedAt: receivedAt).removing(unchanging)
        let replaced = newer.fields.map(\.name) + ["Age", "Warning"]
        return HeaderList(stored.removing(replaced).fields + newer.fields)
    }

    private static let unchanging = ["Content-Length", "Content-Encoding", "Content-Range"]

    /// §3.1, and the fields of RFC 9110 §7.6.1.
    private static func excluded(from headers: HeaderList) -> [String] {
        let named = headers.values(of: "Connection")
            .flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
            .map { String(Substring($0).trimmingFieldSpace) }
        return connectionFields + proxyFields + named
            + CacheControl(of: headers).fieldNames("no-cache")
    }

    private static let connectionFields = [
        "Connection", "Proxy-Connection", "Keep-Alive", "TE", "Transfer-Encoding", "Upgrade",
    ]
    private static let proxyFields = [
        "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
    ]

    private static func dated(_ headers: HeaderList, _ receivedAt: Timestamp) -> HeaderList {
        let received = receivedAt.httpDate
        if let date = headers.only("Date"), HTTPDate(cacheField: date, now: received) != nil {
            return headers
        }
        var dated = headers.removing(["Date"])
        dated.append("Date", received.description)
        return dated
    }
}
