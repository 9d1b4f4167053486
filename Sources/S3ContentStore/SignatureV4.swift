internal import Engine
internal import Semantics
internal import Syntax

/// The signature of a request by AWS Signature Version 4, in its header.
/// <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>
struct SignatureV4 {
    /// What is signed, beside the header.
    struct Request {
        var method: String
        /// As it is sent: only of unreserved characters and slashes.
        var path: String
        /// Names and values, as they are before they are encoded; in any order.
        var query: [(name: String, value: String)]
        /// With Host; names in small letters, values without white space around them.
        var headers: [(name: String, value: String)]
        /// SHA-256 of the body, in hexadecimal digits.
        var digest: String
    }

    let credentials: S3Credentials
    let region: String
    let digests: any Digests
    private static let service = "s3"

    /// The query as it is sent and signed: encoded, and in order.
    static func query(_ query: [(name: String, value: String)]) -> String {
        query.map { (encoded($0.name), encoded($0.value)) }
            .sorted { $0.0 != $1.0 ? less($0.0, $1.0) : less($0.1, $1.1) }
            .map { "\($0)=\($1)" }.joined(separator: "&")
    }

    /// By their bytes.
    private static func less(_ first: String, _ second: String) -> Bool {
        first.utf8.lexicographicallyPrecedes(second.utf8)
    }

    static func encoded(_ text: String) -> String {
        PercentCoding.text(encoding: text.utf8, keeping: Octets.isUnreserved)
    }

    /// An instant as `x-amz-date` has it: 20130524T000000Z.
    static func stamp(secondsSince1970 seconds: Int64) -> String {
        let date = CivilDate(secondsSince1970: seconds)
        let second = seconds - date.daysSince1970 * 86_400
        return padded(date.year, 4) + padded(Int64(date.month), 2) + padded(Int64(date.day), 2)
            + "T" + padded(second / 3600, 2) + padded(second / 60 % 60, 2) + padded(second % 60, 2)
            + "Z"
    }

    private static func padded(_ number: Int64, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }

    /// The value of Authorization.
    ///
    /// - Parameters:
    ///   - request: what is signed.
    ///   - stamp: the value of its `x-amz-date`.
    /// - Returns: the value.
    func authorization(of request: Request, at stamp: String) -> String {
        let headers = request.headers.sorted { Self.less($0.name, $1.name) }
        let names = headers.map(\.name).joined(separator: ";")
        let canonical = [
            request.method, request.path, Self.query(request.query),
            headers.map { "\($0.name):\($0.value)\n" }.joined(), names, request.digest,
        ].joined(separator: "\n")
        let day = String(stamp.prefix(8))
        let scope = "\(day)/\(region)/\(Self.service)/aws4_request"
        let hash = Hex.text(of: digests.hash(Array(canonical.utf8), by: .sha256))
        let text = "AWS4-HMAC-SHA256\n\(stamp)\n\(scope)\n\(hash)"
        var key = Array("AWS4\(credentials.secretKey)".utf8)
        for word in [day, region, Self.service, "aws4_request", text] {
            key = digests.authenticationCode(of: Array(word.utf8), key: key)
        }
        return "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope),"
            + "SignedHeaders=\(names),Signature=\(Hex.text(of: key))"
    }
}
