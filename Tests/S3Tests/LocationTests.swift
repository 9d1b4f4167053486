import Engine
import Testing

@testable import S3ContentStore

/// What `--contents s3://…` says, and what the environment adds.
struct LocationTests {
    @Test func `Amazon's own endpoint follows from region and bucket`() throws {
        let plain = try S3Location("s3://my-bucket/a/b/", environment: [:])
        #expect(plain.url(plain.path(of: "k")) == "https://my-bucket.s3.us-east-1.amazonaws.com/k")
        #expect(plain.prefix == "a/b/" && plain.place == "s3://my-bucket/a/b")
        let far = try S3Location(
            "s3://my-bucket", environment: ["AWS_DEFAULT_REGION": "x", "AWS_REGION": "cn-north-1"])
        #expect(far.host == "my-bucket.s3.cn-north-1.amazonaws.com.cn" && far.prefix.isEmpty)
        let dotted = try S3Location("s3://my.bucket/p?region=eu-west-1", environment: [:])
        #expect(
            dotted.url(dotted.path(of: "k")) == "https://s3.eu-west-1.amazonaws.com/my.bucket/k")
    }

    @Test func `an endpoint of one's own takes the bucket in the path, if not told otherwise`()
        throws
    {
        let own = ["AWS_ENDPOINT_URL": "http://Other", "AWS_ENDPOINT_URL_S3": "http://Minio:9000/"]
        let path = try S3Location("s3://bucket/p", environment: own)
        #expect(path.url(path.path(of: "p/k")) == "http://minio:9000/bucket/p/k")
        let virtual = try S3Location(
            "s3://bucket?style=virtual&endpoint=https%3A%2F%2Fcdn.example%3A443", environment: own)
        #expect(virtual.url(virtual.path(of: "")) == "https://bucket.cdn.example/")
    }

    @Test(arguments: [
        "s3:/bucket", "s3://", "s3://B_ucket/p", "s3://ab", "s3://bucket/a%20b", "s3://bucket/a b",
        "s3://bucket/../x", "s3://bucket?style=other", "s3://bucket?regoin=x",
        "s3://bucket?endpoint=ftp://x", "s3://bucket?endpoint=http://u@x", "s3://bucket?region=a/b",
    ])
    func `what is no such place is refused in a sentence that names it`(text: String) throws {
        let error = try #require(throws: UnusablePlace.self) {
            try S3Location(text, environment: [:])
        }
        #expect(error.description.contains("--contents s3:/"))
    }

    @Test func `credentials are read from a file by their profile`() throws {
        let file = """
            # a comment
            [default]
            aws_access_key_id = first
            aws_secret_access_key=a=b/c+d
            [ other ]
            ; another
            aws_access_key_id=second
            aws_secret_access_key = s
            aws_session_token = t
            [half]
            aws_access_key_id=third
            """
        let known = S3Credentials(file: file, profile: "default")
        #expect(known == S3Credentials("first", "a=b/c+d", nil))
        #expect(S3Credentials(file: file, profile: "other") == S3Credentials("second", "s", "t"))
        #expect(S3Credentials(file: file, profile: "half") == nil)
        #expect(S3Credentials(file: file, profile: "none") == nil)
        #expect(throws: UnusablePlace.self) {
            try S3Credentials(environment: ["AWS_ACCESS_KEY_ID": "x"])
        }
    }

    @Test func `documents are read with their references, and no other than theirs`() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <List xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Key>a&amp;b&#10;c</Key>
            <Key>ü</Key><Empty/></List>
            """
        let root = try #require(XMLElement.root(of: Array(text.utf8)))
        #expect(root.name == "List" && root.all("Key").map(\.text) == ["a&b\nc", "ü"])
        #expect(root.text(of: "Empty")?.isEmpty == true && root.text(of: "None") == nil)
        #expect(XMLElement.root(of: Array("<a><b></a>".utf8)) == nil)
        #expect(XMLElement.root(of: []) == nil)
        let deep = String(repeating: "<a>", count: 40) + String(repeating: "</a>", count: 40)
        #expect(XMLElement.root(of: Array(deep.utf8)) == nil)
        #expect(XMLElement.escaped("a&<\">") == "a&amp;&lt;&quot;&gt;")
    }

    @Test func `parts grow with the length, so that there are never too many`() {
        let sizes = S3Sizes()
        #expect(sizes.part(of: 20 << 20) == 8 << 20)
        for length in [1 << 20, 80_000 << 20, (80_000 << 20) + 1, 5 << 40] as [Int64] {
            let part = sizes.part(of: length)
            let ranges = sizes.ranges(of: length, by: part)
            #expect(ranges.count <= 10_000 && part >= 5 << 20 && part <= 5 << 30)
            #expect(ranges.first?.lowerBound == 0 && ranges.last?.upperBound == length)
        }
    }
}
