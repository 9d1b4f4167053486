import Testing

@testable import Semantics

struct StorabilityTests {
    private typealias Refusal = Storability.Refusal

    private func refusal(
        _ status: Int, _ headers: HeaderList, to request: CacheRequest = .make(),
        contentLocation: WebURL? = nil
    ) -> Storability.Refusal? {
        switch Storability(
            request, status: status, headers: headers, contentLocation: contentLocation)
        {
        case .storable: nil
        case .refused(let refusal): refusal
        }
    }

    @Test(
        arguments: [
            (200, [:], nil), (200, ["Cache-Control": "no-store"], .responseNoStore),
            (200, ["Cache-Control": "No-Store"], .responseNoStore),
            (200, ["Cache-Control": "max-age=60, no-store"], .responseNoStore),
            (200, ["Cache-Control": "no-store", "cache-control": "max-age=60"], .responseNoStore),
            (200, ["Cache-Control": "x=\"no-store\""], nil),
            (200, ["Cache-Control": "private"], nil), (200, ["Cache-Control": "no-cache"], nil),
            (200, ["Cache-Control": "private=\"Set-Cookie\""], nil),
            (200, ["Set-Cookie": "a=b"], nil), (200, ["Pragma": "no-cache"], nil),
            (200, ["Vary": "*"], .varyAny), (200, ["Vary": "A, *"], .varyAny),
            (200, ["Vary": "*", "vary": "A"], .varyAny), (200, ["Vary": "A, B"], nil),
            (200, ["Content-Type": "multipart/x-mixed-replace; boundary=a"], .endless),
            (201, [:], .notCacheable), (201, ["Cache-Control": "max-age=1"], nil),
            (302, [:], .notCacheable), (302, ["Expires": "0"], nil),
            (302, ["Cache-Control": "s-maxage=1"], .notCacheable),
            (307, ["Cache-Control": "public"], nil), (500, [:], .notCacheable),
            (503, ["Cache-Control": "max-age=1"], nil), (599, ["Cache-Control": "private"], nil),
            (299, ["Cache-Control": "max-age=1"], nil), (404, [:], nil),
            (206, ["Cache-Control": "max-age=1"], .status),
            (304, ["Cache-Control": "max-age=1"], .status),
            (103, ["Cache-Control": "max-age=1"], .status),
            (600, ["Cache-Control": "max-age=1"], .status),
        ] as [(Int, HeaderList, Storability.Refusal?)])
    func `RFC 9111 3: what the response allows a private cache`(
        status: Int, headers: HeaderList, expected: Storability.Refusal?
    ) {
        #expect(refusal(status, headers) == expected)
    }

    @Test(arguments: [206, 304, 401, 407, 412, 416, 428, 429, 431, 511])
    func `RFC 6585: what is about one request, and not about the URL, is never stored`(status: Int)
    {
        for control in ["max-age=60", "public", "must-understand, max-age=60"] {
            #expect(refusal(status, ["Cache-Control": control]) == .status)
        }
    }

    @Test(
        arguments: [
            (200, "must-understand, no-store", nil), (200, "must-understand, max-age=1", nil),
            (200, "no-store, must-understand, max-age=1", nil),
            (599, "must-understand, max-age=1", .notUnderstood),
            (599, "must-understand, no-store, max-age=1", .notUnderstood),
            (299, "must-understand, max-age=1", .notUnderstood),
            (404, "must-understand, no-store", nil),
        ] as [(Int, String, Storability.Refusal?)])
    func
        `RFC 9111 5.2.2.3: must-understand takes the place of no-store for statuses that are known`(
            status: Int, control: String, expected: Storability.Refusal?
        )
    {
        #expect(refusal(status, ["Cache-Control": control]) == expected)
    }

    @Test(
        arguments: [
            (["Cache-Control": "no-store"], .requestNoStore),
            (["Cache-Control": "max-age=0, NO-STORE"], .requestNoStore),
            (["Cache-Control": "no-cache"], nil), (["Pragma": "no-store"], nil),
            (["Authorization": "Basic x"], nil), (["Cookie": "a=b"], nil),
            (["Range": "bytes=0-1"], nil), (["If-None-Match": "\"a\""], nil),
        ] as [(HeaderList, Storability.Refusal?)])
    func `RFC 9111 3, 3.5: what the request allows a private cache`(
        headers: HeaderList, expected: Storability.Refusal?
    ) {
        #expect(refusal(200, ["Cache-Control": "max-age=60"], to: .make(headers)) == expected)
    }

    @Test(arguments: ["HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "QUERY", "XYZ", "get"])
    func `RFC 9110 9.2.3: other methods' answers are not stored`(method: String) {
        let headers: HeaderList = ["Cache-Control": "max-age=60"]
        #expect(
            refusal(200, headers, to: .make(method: method), contentLocation: .make()) == .method)
    }

    @Test(
        arguments: [
            (200, ["Cache-Control": "max-age=60"], WebURL.make(), nil),
            (200, ["Expires": "0"], .make(), nil),
            (200, ["Cache-Control": "max-age=60"], nil, .method),
            (200, ["Cache-Control": "max-age=60"], .make("/b"), .method),
            (200, ["Cache-Control": "public"], .make(), .method), (200, [:], .make(), .method),
            (404, ["Cache-Control": "max-age=60"], .make(), .method),
            (200, ["Cache-Control": "max-age=60, no-store"], .make(), .responseNoStore),
        ] as [(Int, HeaderList, WebURL?, Storability.Refusal?)])
    func `RFC 9110 9.3.3: a POST's answer is stored if it is the URL's own and says for how long`(
        status: Int, headers: HeaderList, contentLocation: WebURL?, expected: Storability.Refusal?
    ) {
        #expect(
            refusal(
                status, headers, to: .make(method: "POST"), contentLocation: contentLocation)
                == expected)
    }
}

struct StoredFieldsTests {
    private let received: HeaderList = [
        "Date": Timestamp.field(0), "Connection": "close, X-Hop", "X-Hop": "1", "Keep-Alive": "5",
        "Proxy-Connection": "x", "TE": "x", "Transfer-Encoding": "chunked", "Upgrade": "h2c",
        "Proxy-Authenticate": "Basic", "Proxy-Authentication-Info": "x", "Trailer": "Z",
        "Proxy-Authorization": "x", "Cache-Control": "no-cache=\"X-Once, set-cookie\"",
        "X-Once": "1", "Set-Cookie": "a=b", "Content-Length": "10", "ETag": "\"a\"", "X": "y",
    ]

    @Test func `RFC 9111 3.1: what belongs to the connection, the proxy or one use is not stored`()
    {
        let kept = StoredFields.kept(of: received, receivedAt: .arrival)
        #expect(
            kept.fields.map(\.name)
                == ["Date", "Trailer", "Cache-Control", "Content-Length", "ETag", "X"])
    }

    @Test(
        arguments: [
            ([:], 0), (["Date": "x"], 0), (["Date": Timestamp.field(-5)], -5),
            (["Date": Timestamp.field(-5), "date": Timestamp.field(-7)], 0),
        ] as [(HeaderList, Int64)])
    func `RFC 9110 6.6.1: a response without a date is given that of its arrival`(
        headers: HeaderList, seconds: Int64
    ) {
        #expect(
            StoredFields.kept(of: headers, receivedAt: .later(0.7)).values(of: "Date")
                == [Timestamp.field(seconds)])
    }

    @Test func `RFC 9111 3.2: newer fields replace and join the stored ones`() {
        let stored: HeaderList = [
            "Date": Timestamp.field(0), "ETag": "\"a\"", "X": "1", "x": "2", "Y": "3", "Age": "9",
            "Content-Type": "text/html", "Warning": "110 - \"old\"", "Last-Modified": "m",
        ]
        let updated = StoredFields.updated(
            stored,
            with: ["X": "new", "Z": "4", "Z": "5", "Content-Type": "text/plain"],
            receivedAt: .later(60))
        #expect(
            updated == [
                "ETag": "\"a\"", "Y": "3", "Last-Modified": "m", "X": "new", "Z": "4", "Z": "5",
                "Content-Type": "text/plain", "Date": Timestamp.field(60),
            ])
    }

    @Test(
        arguments: [
            "Content-Length", "Content-Encoding", "Content-Range", "Connection", "Keep-Alive",
            "Transfer-Encoding", "Upgrade", "Proxy-Authenticate", "Proxy-Connection", "TE",
            "X-Hop",
        ])
    func `RFC 9111 3.2: what describes the kept bytes or the connection is not updated`(
        name: String
    ) {
        let newer: HeaderList = ["Connection": "x-hop", name: "new", "Date": Timestamp.field(1)]
        let updated = StoredFields.updated([name: "old"], with: newer, receivedAt: .later(1))
        #expect(updated.values(of: name) == ["old"])
    }

    @Test(
        arguments: [
            "Cache-Control", "Content-Disposition", "Content-Language", "Content-Location",
            "Content-MD5", "Content-Security-Policy", "Content-Type", "ETag", "Expires",
            "Last-Modified", "Link", "P3P", "Server", "Set-Cookie", "Strict-Transport-Security",
            "Vary", "X-Frame-Options", "X-Anything",
        ])
    func `RFC 9111 3.2: every other field is updated`(name: String) {
        let newer: HeaderList = [name.asciiLowercased: "new", "Date": Timestamp.field(1)]
        let updated = StoredFields.updated([name: "old"], with: newer, receivedAt: .later(1))
        #expect(updated.values(of: name) == ["new"])
    }

    @Test func `RFC 9111 4.2.3: an answer without Age makes the stored one young`() throws {
        let old = try StoredResponse.make(["Age": "500", "Date": Timestamp.field(-500)])
        let fresh = old.merged(with: .make(304, after: 100))
        #expect(fresh.age(at: .later(100)) == 0)
        #expect(old.merged(with: .make(304, ["Age": "7"])).age(at: .later(101)) == 8)
    }
}
