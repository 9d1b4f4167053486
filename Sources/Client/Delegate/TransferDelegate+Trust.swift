/// Server trust (S-75): what verifies is accepted without a word.
extension TransferDelegate {
    func trust(
        in challenge: RemoteChallenge, _ isAsked: IsAsked
    ) throws(ClientError) -> DecisionReply? {
        guard let trust = challenge.serverTrust, !trust.isTrusted else {
            return .performDefaultHandling
        }
        let accepts = DecisionReply(credential: .serverTrust(trust.leaf.fingerprint))
        let failures = trust.failures.isEmpty ? ["it does not verify"] : trust.failures
        let reason = failures.joined(separator: "; ")
        if settings.trustsEverybody {
            tellOnce("Warning: the certificate of \(challenge.place) is taken as it is: \(reason).")
            return accepts
        }
        guard let prompt else { return .performDefaultHandling }
        prompt.say("The certificate of \(challenge.place) cannot be trusted: \(reason).")
        for line in TransferDelegate.lines(trust.leaf) { prompt.say(line) }
        let question = "Trust this certificate for this transfer?"
        let answer = try prompt.confirms(question, preset: false, isAsked: isAsked)
        if answer == nil, try !isAsked() { return nil }
        return answer == true ? accepts : .cancelChallenge
    }

    /// What a person compares before saying yes.
    private static func lines(_ leaf: RemoteTrust.Certificate) -> [String] {
        var lines = ["  subject  \(leaf.subject)"]
        if !leaf.alternativeNames.isEmpty {
            let (shown, count) = (leaf.alternativeNames.prefix(8), leaf.alternativeNames.count)
            let more = count > shown.count ? " and \(count - shown.count) more" : ""
            lines.append("  names    \(shown.joined(separator: ", "))\(more)")
        }
        lines.append("  issuer   \(leaf.issuer)")
        lines.append("  valid    \(day(leaf.notBefore)) to \(day(leaf.notAfter))")
        // A gateway that writes it in another way is shown as it writes.
        let fingerprint = try? CertificateFingerprint(parsing: leaf.fingerprint)
        for (index, line) in (fingerprint?.lines ?? [leaf.fingerprint]).enumerated() {
            lines.append((index == 0 ? "  SHA-256  " : "           ") + line)
        }
        return lines
    }

    /// `2026-11-21 06:30:00 UTC` of an RFC 3339 instant in UTC; any other text as it is.
    private static func day(_ instant: String) -> String {
        let parts = instant.split(separator: "T")
        guard parts.count == 2, instant.hasSuffix("Z") else { return instant }
        return "\(parts[0]) \(parts[1].prefix { $0 != "." && $0 != "Z" }) UTC"
    }
}
