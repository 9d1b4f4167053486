import JSON
import Sealing
import Testing

@testable import S3ContentStore

/// Signatures as Amazon's own examples have them.
/// <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>
struct SignatureTests {
    private static let nothing =
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    private static let stamp = "20130524T000000Z"

    private func signature(
        _ method: String, _ path: String, _ query: [(name: String, value: String)] = [],
        _ headers: [(name: String, value: String)] = [], digest: String = nothing
    ) -> String {
        let signer = SignatureV4(
            credentials: S3Credentials(
                "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", nil),
            region: "us-east-1", digests: SHADigests())
        let all =
            headers + [
                ("x-amz-date", Self.stamp), ("x-amz-content-sha256", digest),
                ("host", "examplebucket.s3.amazonaws.com"),
            ]
        let value = signer.authorization(
            of: SignatureV4.Request(
                method: method, path: path, query: query, headers: all, digest: digest),
            at: Self.stamp)
        #expect(
            value.hasPrefix(
                "AWS4-HMAC-SHA256 "
                    + "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"))
        return String(value.split(separator: "Signature=").last ?? "")
    }

    @Test func `a range of an object is signed as in the example`() {
        #expect(
            signature("GET", "/test.txt", [], [("range", "bytes=0-9")])
                == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    @Test func `an object that is sent is signed as in the example`() {
        #expect(
            signature(
                "PUT", "/test%24file.text", [],
                [
                    ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                    ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
                ], digest: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
                == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test func `queries are signed as in the examples, in their order and without a value too`() {
        #expect(
            signature("GET", "/", [("lifecycle", "")])
                == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
        #expect(
            signature("GET", "/", [("prefix", "J"), ("max-keys", "2")])
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    @Test func `a query is encoded byte by byte and sorted by what it is then`() {
        #expect(
            SignatureV4.query([("b", "x/y z"), ("a", "ü+="), ("B", ""), ("a", "~-._")])
                == "B=&a=%C3%BC%2B%3D&a=~-._&b=x%2Fy%20z")
    }

    @Test func `instants are written by the calendar`() {
        #expect(SignatureV4.stamp(secondsSince1970: 1_369_353_600) == Self.stamp)
        #expect(SignatureV4.stamp(secondsSince1970: 951_782_399) == "20000228T235959Z")
        #expect(RFC3339.milliseconds("2013-05-24T00:00:00.000Z") == 1_369_353_600_000)
        #expect(RFC3339.milliseconds("2013-13-24T00:00:00.000Z") == nil)
        #expect(RFC3339.milliseconds("2013-05-24T\(Int64.max):00:00.000Z") == nil)
    }
}
