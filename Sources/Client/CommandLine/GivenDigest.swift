internal import Syntax

/// A digest as people have it, in the form of the contract.
public enum GivenDigest {
    private static let lengths = ["sha-256": 32, "sha-512": 64]

    /// `sha-256=:BASE64:` (RFC 9530 §2) of that form, of `sha-256=HEX` as aria2 has it, of
    /// `sha256:HEX`, and of the digits alone as sha256sum prints them.
    ///
    /// - Throws: `badArgument`.
    public static func field(parsing text: String) throws(ClientError) -> String {
        let parts = text.split(separator: "=", maxSplits: 1).flatMap {
            $0.contains("=") || $0.hasPrefix(":") ? [$0] : $0.split(separator: ":", maxSplits: 1)
        }
        let (name, value) = parts.count > 1 ? (String(parts[0]), parts[1]) : ("", parts.first ?? "")
        if value.hasPrefix(":") {
            // As the contract has it: the gateway judges it.
            return text
        }
        guard let bytes = Hex.bytes(of: value), let algorithm = algorithm(name, bytes.count) else {
            throw .badArgument(
                """
                a checksum is written sha-256=HEX or sha-512=HEX, with 64 or 128 hexadecimal \
                digits, not '\(text)'
                """)
        }
        return "\(algorithm)=:\(Base64.standard.text(of: bytes)):"
    }

    /// The first digest in a sentence of the gateway's, as sha256sum prints it: `sha-256=HEX`; nil
    /// where there is none.
    static func digits(in sentence: String) -> String? {
        for word in sentence.split(separator: " ") {
            let parts = word.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count > 2, parts[0].hasSuffix("="),
                let length = lengths[String(parts[0].dropLast())],
                let bytes = Base64.standard.bytes(of: String(parts[1])), bytes.count == length
            else { continue }
            return parts[0] + Hex.text(of: bytes)
        }
        return nil
    }

    private static func algorithm(_ name: String, _ count: Int) -> String? {
        let known = lengths.filter { $0.value == count }.keys.first
        let asked = name.lowercased().replacing("sha2", with: "sha-2").replacing(
            "sha5", with: "sha-5")
        return name.isEmpty || asked == known ? known : nil
    }
}
