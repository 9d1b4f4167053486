import Engine
import Semantics

extension World {
    /// Cookies that together use every member; numbered from 1 on.
    func cookies() -> [Cookie] {
        let later = Timestamp(milliseconds: instant.milliseconds + 86_400_000)
        return [
            Cookie(name: "a", value: "1", domain: "example.com", creationTime: instant),
            Cookie(name: "", value: "", domain: "192.0.2.1", path: "/", creationTime: later),
            Cookie(
                name: "__Host-ümläut", value: "\"q=🚢; x\"", domain: "fe80::1", path: "/a/%20/b/",
                expires: Timestamp(milliseconds: .max), isSecure: true, isHTTPOnly: true,
                sameSite: .strict, isHostOnly: false, creationTime: Timestamp(milliseconds: -1),
                lastAccessTime: later),
            Cookie(
                name: "e", value: "\u{65}\u{301}", domain: "b.example", path: "/\u{E9}",
                expires: Timestamp(milliseconds: 0), isSecure: true, sameSite: .lax,
                creationTime: later, lastAccessTime: instant),
            Cookie(
                name: "n", value: String(repeating: "v", count: 4095), domain: "c.example",
                isHTTPOnly: true, sameSite: .none, isHostOnly: false, creationTime: instant),
        ].enumerated().map { index, cookie in cookie.numbered(Int64(index + 1)) }
    }

    /// Credentials that together use every member.
    func credentials() -> [StoredCredential] {
        let proofs: [Credential.Proof] = [
            .password(user: "änn", password: "pass: word"), .password(user: "", password: ""),
            .identity(.pem(certificate: "-----BEGIN", key: "-----KEY\n")),
            .identity(.pkcs12(bytes: [0, 255, 7], passphrase: "p")),
            .serverTrust(leaf: Array(repeating: 7, count: 32)), .serverTrust(leaf: []),
        ]
        let spaces: [ProtectionSpace] = [
            .plain(.basic), .plain(.digest, realm: nil, isProxy: true),
            .plain(.clientCertificate, realm: ""), .plain(.ntlm), .plain(.serverTrust),
            .plain(.other("Bearer")),
        ]
        return zip(proofs, spaces).enumerated().map { index, pair in
            StoredCredential(
                space: pair.1,
                credential: Credential(
                    pair.0, persistence: CredentialPersistence.allCases[2 - index % 3]),
                isDefault: index % 2 == 0)
        }
    }

    /// A stored response of a URL, without a content where it lies in a file.
    mutating func makeResponse(
        in session: SessionID, url: String = "https://example.com/a?b=c",
        place: CachedEntry.Place = .store, length: Int = 12
    ) -> KeptResponse {
        tick()
        let response = StoredResponse(
            id: nextIdentifier(), key: CacheKey(stored: url), selecting: .none, status: 200,
            httpVersion: "1.1", headers: ["Date": "Sun, 06 Nov 1994 08:49:37 GMT"],
            requestTime: instant, responseTime: instant, length: Int64(length), isDecoded: false)
        return KeptResponse(
            CachedEntry(
                session: session, tenant: self.session(session).tenant, response: response,
                place: place, usedAt: instant),
            content: place == .store ? Array(repeating: 5, count: length) : nil)
    }

    /// Stored responses that together use every member.
    mutating func responses(in session: SessionID) -> [KeptResponse] {
        let plain = makeResponse(in: session)
        let empty = makeResponse(in: session, url: "", length: 0)
        let file = makeResponse(in: session, place: .file, length: 1 << 30)
        tick()
        let rich = StoredResponse(
            id: nextIdentifier(), key: CacheKey(stored: "http://[fe80::1%25eth0]:8080/🚢?"),
            selecting: SelectingFields(stored: [
                .init(name: "accept", value: "text/html;q=0.5"), .init(name: "cookie", value: ""),
                .init(name: "authorization", value: nil),
            ]), status: 599, httpVersion: "2",
            headers: [
                "Set-Cookie": "a=b", "set-cookie": "c", "Cache-Control": "max-age=9", "": "",
            ],
            requestTime: Timestamp(milliseconds: -5), responseTime: instant, length: 32_768,
            isDecoded: true, isOutdated: true)
        let entry = CachedEntry(
            session: session, tenant: self.session(session).tenant, response: rich, place: .store,
            userInfo: ["": "", "ü": "🚢", "k": "v"], usedAt: Timestamp(milliseconds: .max))
        return [
            plain, empty, file, KeptResponse(entry, content: Array(repeating: 9, count: 32_768)),
        ]
    }

    /// A batch with what has changed in a session's jar.
    func jar(
        _ session: SessionID, storing cookies: [Cookie], removing: [Int64] = [],
        removesAll: Bool = false
    ) -> SessionChange<Cookie> {
        var change = SessionChange<Cookie>(session: session, tenant: self.session(session).tenant)
        change.removesAll = removesAll
        change.removed = removing
        for cookie in cookies { change.stored[cookie.sequence] = cookie }
        return change
    }

    /// A change that keeps credentials under the numbers 1, 2, …
    func shelf(
        _ session: SessionID, storing credentials: [StoredCredential]
    ) -> SessionChange<StoredCredential> {
        var change = SessionChange<StoredCredential>(
            session: session, tenant: self.session(session).tenant)
        for (index, credential) in credentials.enumerated() {
            change.stored[Int64(index + 1)] = credential
        }
        return change
    }
}

extension Cookie {
    /// The same with the number that a jar gives.
    func numbered(_ sequence: Int64) -> Cookie {
        Cookie(
            name: name, value: value, domain: domain, path: path, expires: expires,
            isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite, isHostOnly: isHostOnly,
            creationTime: creationTime, lastAccessTime: lastAccessTime, sequence: sequence)
    }
}

extension SelectingFields {
    /// A response without `Vary`.
    static let none = SelectingFields(stored: [])
}

extension StoreContents {
    /// A session's cookies in the order of their numbers.
    func jar(of session: SessionID) -> [Cookie] {
        (cookies[session] ?? []).sorted { $0.sequence < $1.sequence }
    }
}

extension Store {
    /// Everything that a session's cache has on disk, by way of its index.
    func cache(of session: SessionID) async throws -> [KeptResponse] {
        var found: [CacheEntryID: KeptResponse] = [:]
        for row in try await cacheIndex(of: session) {
            for response in try await cacheEntries(of: session, under: row.fingerprint) {
                found[response.entry.id] = response
            }
        }
        return found.values.sorted { $0.entry.id < $1.entry.id }
    }
}

extension CacheKey {
    /// Some number that equal keys have in common, where it does not matter that anybody could tell
    /// it.
    var fingerprint: Int64 { url.utf8.reduce(5381) { $0 &* 33 &+ Int64($1) } }
}

extension KeptResponse {
    /// A response that is looked up by the plain fingerprint of its key.
    init(_ entry: CachedEntry, content: [UInt8]? = nil) {
        self.init(entry, under: entry.response.key.fingerprint, content: content)
    }
}
