import Diagnostics
import Files
import Foundation
import Glibc
import REST

/// A file that has one token, for its owner only.
struct TokenFile {
    /// Where it is.
    let path: String

    private static let log = Log("token")

    /// The token that is there, else a new one, which is there from then on.
    /// - Throws: `Refusal` where the file holds something else, cannot be read, or cannot be made.
    func token() throws(Refusal) -> AccessToken {
        if let data = FileManager.default.contents(atPath: path) {
            guard let token = AccessToken(String(decoding: data, as: UTF8.self)) else {
                throw Refusal(
                    description: "\(path) holds no token; remove it, and a new one is made.",
                    code: 78)
            }
            return token
        }
        // One that is there must not be replaced because it cannot be read at the moment.
        guard access(path, F_OK) != 0 else {
            throw Refusal(description: "\(path) cannot be read.", code: 66)
        }
        let token = AccessToken.make()
        try write(token.text + "\n")
        TokenFile.log.write(.notice, "a token was made", ["file": .name(path)])
        return token
    }

    /// Whole or not at all, durable, for the owner only.
    private func write(_ text: String) throws(Refusal) {
        do throws(FileError) {
            try WholeFile(path, draft: path + ".new").write(Array(text.utf8))
        } catch {
            throw Refusal(description: "\(path) cannot be written: \(error.words)", code: 73)
        }
    }
}
