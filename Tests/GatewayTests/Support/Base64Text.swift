import Foundation

/// Base64 by Foundation, independent of the gateway's own.
enum Base64Text {
    /// The bytes that a text stands for; empty where it is none.
    static func bytes(_ text: String) -> [UInt8] {
        Data(base64Encoded: text).map(Array.init) ?? []
    }

    /// The text for bytes.
    static func text(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }
}
