/// Which of a response's Digest challenges libcurl 7.88 answers, if any (RFC 7616; libcurl's `lib/vauth/digest.c`).
///
/// It takes the first one of the response and knows no other; but what follows that in the same field value is read into
/// it: a second nonce, algorithm or qop takes the place of the first. So all of that value must be answerable.
struct DigestOffer {
    private let answered: AuthenticateChallenge?

    /// - Parameter fields: the challenges of each field value, in their order.
    init(_ fields: [[AuthenticateChallenge]]) {
        let digests = fields.lazy
            .map { $0.filter { $0.scheme.equalsIgnoringCase("Digest") } }
            .first { !$0.isEmpty }
        guard let digests, let first = digests.first,
            digests.allSatisfy({ DigestOffer.isSpoken($0) && $0["realm"] == first["realm"] })
        else {
            answered = nil
            return
        }
        answered = first
    }

    /// Whether the answer is one to this Digest challenge: the same realm has the same users, by another algorithm, too.
    func isAnswerable(_ challenge: AuthenticateChallenge) -> Bool {
        answered.map { $0["realm"] == challenge["realm"] } ?? false
    }

    /// MD5 and SHA-256, whose `-sess` needs a qop; without a body under protection (`auth-int`).
    private static func isSpoken(_ challenge: AuthenticateChallenge) -> Bool {
        let qualities = challenge["qop"].map { qop in
            qop.split(separator: ",").map { $0.trimmingFieldSpace.asciiLowercased }
        }
        let isShort = challenge.parameters.allSatisfy { $0.value.utf8.count < valueByteLimit }
        guard challenge["nonce"] != nil, isShort, qualities?.contains("auth") != false else {
            return false
        }
        return switch (challenge["algorithm"] ?? "MD5").asciiLowercased {
        case "md5", "sha-256": true
        case "md5-sess", "sha-256-sess": qualities != nil
        default: false
        }
    }

    /// libcurl's `DIGEST_MAX_CONTENT_LENGTH`: what is longer, it cuts off.
    private static let valueByteLimit = 1_024
}
