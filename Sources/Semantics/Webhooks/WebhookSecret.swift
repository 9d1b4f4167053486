internal import Syntax

/// The key that a webhook's requests are signed with, which its receiver has, too (Standard
/// Webhooks, "Webhook signatures").
public struct WebhookSecret: Hashable, Sendable {
    /// How many bytes a key may have.
    public static let lengths = 24...64

    /// The key of HMAC-SHA256.
    public let bytes: [UInt8]

    /// A key that is given; nil unless its length is one of `lengths`.
    public init?(bytes: [UInt8]) {
        guard WebhookSecret.lengths.contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    /// Reads what `text` writes; nil for anything else.
    public init?(_ text: String) {
        guard text.hasPrefix(WebhookSecret.prefix),
            let bytes = Base64.standard.bytes(
                of: String(text.dropFirst(WebhookSecret.prefix.count)))
        else { return nil }
        self.init(bytes: bytes)
    }

    /// A new key of 32 bytes.
    ///
    /// - Parameter generator: has to be one that nobody can guess.
    public init(using generator: inout some RandomNumberGenerator) {
        bytes = (0..<4).flatMap { _ in
            withUnsafeBytes(of: generator.next()) { Array($0) }
        }
    }

    /// `whsec_` and the key in base64: what libraries of receivers take.
    public var text: String { WebhookSecret.prefix + Base64.standard.text(of: bytes) }

    /// A code that was made with a key, as `webhook-signature` has it.
    public static func signature(_ code: [UInt8]) -> String {
        "v1," + Base64.standard.text(of: code)
    }

    private static let prefix = "whsec_"
}
