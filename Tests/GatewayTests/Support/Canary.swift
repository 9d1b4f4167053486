import Foundation
import TestSupport

/// A secret that is looked for where it must not be (security §5).
struct Canary: Sendable {
    /// The secret; of its own for each test, and in a form that nothing else has.
    let text: String

    init(_ name: String) {
        let random = UInt64.random(in: .min ... .max)
        text = "canary~\(name)~\(String(random, radix: 36))~and~its~tail"
    }

    /// Its bytes as they are, percent-encoded, and in base64 at each of the three places in a
    /// group.
    private var forms: [[UInt8]] {
        let bytes = Array(text.utf8)
        let encoded = text.replacing("~", with: "%7E")
        let base64 = (0..<3).map { shift in
            // Whole groups only: what is in front and behind changes the outer digits.
            let group = Base64Text.text(Array(bytes.dropFirst(shift)).dropLastPartialGroup)
            return Array(group.utf8)
        }
        return [bytes, Array(encoded.utf8)] + base64
    }

    /// Whether bytes have it in any form.
    func isIn(_ bytes: some DataProtocol) -> Bool {
        let data = Data(bytes)
        return forms.contains { data.range(of: Data($0)) != nil }
    }

    /// Whether a text has it in any form.
    func isIn(_ text: String) -> Bool { isIn(Array(text.utf8)) }

    /// The files below a directory that have it in any form, their names too.
    func places(below path: String) throws -> [String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: path)
        return names.filter { name in
            isIn(name) || FileManager.default.contents(atPath: "\(path)/\(name)").map(isIn) ?? false
        }
    }
}

extension [UInt8] {
    fileprivate var dropLastPartialGroup: [UInt8] { Array(prefix(count / 3 * 3)) }
}
