/// The body of a request as `--data` gives it.
public enum GivenBody {
    /// What a request may carry with it; more is sent by `ferry put`.
    private static let byteLimit = 700 << 10

    /// The pieces with `&` between them, as forms have it; a piece that begins with `@` is a file,
    /// as it is, and `@-` standard input. Blocks.
    ///
    /// - Throws: `unreadable`, `badArgument`.
    public static func bytes(of pieces: [String]) throws(ClientError) -> [UInt8] {
        var body: [UInt8] = []
        for (index, piece) in pieces.enumerated() {
            if index > 0 { body.append(UInt8(ascii: "&")) }
            if piece.hasPrefix("@") {
                body += try LocalFile.readGiven(String(piece.dropFirst()), limit: byteLimit)
            } else {
                body += Array(piece.utf8)
            }
        }
        guard body.count <= byteLimit else {
            throw .badArgument("--data takes at most 700 KiB: send a file by `ferry put`")
        }
        return body
    }
}
