import Semantics
import TestSupport

/// The same text in every coding, as the codings' own programs have packed it: zlib of level 9,
/// `zstd -19` with its checksum, brotli of quality 11.
enum Sample {
    /// 60 lines, which repeat each other in part.
    static let text: [UInt8] = (0..<60).flatMap { line in
        Array(
            "\(line * line * 7919 % 100_003): the quick brown fox jumps over the lazy dog \(line)\n"
                .utf8)
    }

    /// What the text is in each form that the gateway knows.
    static let all: [(layer: Layer, bytes: [UInt8])] = [
        (.gzip, gzip), (.deflate, zlib), (.deflate, raw), (.br, br), (.zstd, zstd),
    ]

    /// RFC 1952.
    static let gzip = bytes(
        """
        1f8b08000000000002039595c97155510c44f71dc50b41f340360cdf333cb03106474f7d67d0eb5ba7a4db6a
        b5e4d3f1fbee72fc7abdfffa787c793edf7e1c37e7dfe3e1f5fbcf97e3fc7379fe787efafcfeeff876de1e82
        5e5d8e51b8561707195aad95831c562d2414d8de360e4a4c4a0f071566c4c84a8d1af64b83d030125aac4eb3
        b315e428ab9e2a425c9ca40c3e46d772a409fdafc0f55b4152096b1396bafa222d49aa5159430e590739d56c
        ad45754a932b2c58d36629855b0d396533cc8a910b698e5213d21b168835ba56225d8654de0a6d3d42528d71
        65a1412e6d285b58cd904376c1aeb3e9ae98513234dc609ece528e0c59b6c1400cb9fc9e286b25cde48590a6
        556f78d4b21d0e22c2c925f1450b7dec42a01a413a371435b564876108ed259d110e9766c33a029eb12c95c8
        52f64c46612d8355a31131ce2a3f505bbad6626bd9d84dc156b3c735156aee2c65081f21e7958e5555b65620
        c3924c804cb81bbb2959b09162a9860f9d5139a8345a8dc57fff4953e6930c0000
        """)

    /// RFC 1950.
    static let zlib = bytes(
        """
        78da9595c97155510c44f71dc50b41f340360cdf333cb03106474f7d67d0eb5ba7a4db6ab5e4d3f1fbee72fc
        7abdfffa787c793edf7e1c37e7dfe3e1f5fbcf97e3fc7379fe787efafcfeeff876de1e825e5d8e51b8561707
        195aad95831c562d2414d8de360e4a4c4a0f071566c4c84a8d1af64b83d030125aac4eb3b315e428ab9e2a42
        5c9ca40c3e46d772a409fdafc0f55b4152096b1396bafa222d49aa5159430e590739d56cad45754a932b2c58
        d36629855b0d396533cc8a910b698e5213d21b168835ba56225d8654de0a6d3d42528d7165a1412e6d285b58
        cd904376c1aeb3e9ae98513234dc609ece528e0c59b6c1400cb9fc9e286b25cde48590a6556f78d4b21d0e22
        c2c925f1450b7dec42a01a413a371435b564876108ed259d110e9766c33a029eb12c95c852f64c46612d8355
        a31131ce2a3f505bbad6626bd9d84dc156b3c735156aee2c65081f21e7958e5555b65620c3924c804cb81bbb
        2959b09162a9860f9d5139a8345a8dc57f8b9a2f0e
        """)

    /// RFC 1951 without anything around it.
    static let raw = bytes(
        """
        9595c97155510c44f71dc50b41f340360cdf333cb03106474f7d67d0eb5ba7a4db6ab5e4d3f1fbee72fc7abd
        fffa787c793edf7e1c37e7dfe3e1f5fbcf97e3fc7379fe787efafcfeeff876de1e825e5d8e51b8561707195a
        ad95831c562d2414d8de360e4a4c4a0f071566c4c84a8d1af64b83d030125aac4eb3b315e428ab9e2a425c9c
        a40c3e46d772a409fdafc0f55b4152096b1396bafa222d49aa5159430e590739d56cad45754a932b2c58d366
        29855b0d396533cc8a910b698e5213d21b168835ba56225d8654de0a6d3d42528d7165a1412e6d285b58cd90
        4376c1aeb3e9ae98513234dc609ece528e0c59b6c1400cb9fc9e286b25cde48590a6556f78d4b21d0e22c2c9
        25f1450b7dec42a01a413a371435b564876108ed259d110e9766c33a029eb12c95c852f64c46612d8355a311
        31ce2a3f505bbad6626bd9d84dc156b3c735156aee2c65081f21e7958e5555b65620c3924c804cb81bbb2959
        b09162a9860f9d5139a8345a8dc57f
        """)

    /// RFC 7932.
    static let br = bytes(
        """
        1b920ce09c09364ea877373cb71ad86949105f5ccbbba5e5199e5e85bd25c85c1e11ecd434cb290cf03009ac
        c17c08230c1f0780233ad92ebc12cd34d1559f5723d749f4fc66873b13fef0ef7d53d8e3352412cdb72fa2b0
        d4926ce86d89c6edadc441a636e50d4c496df15ea4c8c0b4888763f63ec9c284ab9884abab4da1a395d918d5
        9e69842ba303adca7c4846632edebcd00c266f473cbc9d5a558513d7245a2f32855c2966e35175a6e193620e
        a62b633eac36757491a6cc60ee85c4835eb2995db86b2289841d2aa8a7998d711d4f1a8e2b73f0b40cf3c1b5
        5973d17e6733b0dd271eb64a9ad205d22e93787977a660eeb5d9e85a4d71d7f1998379ac361f4ee3331776ba
        cc803a1f79b87755a77a6e1925a86e5370a7c66c1c499bc6581373d02d17faa0d433179d65cce08de87d00
        """)

    /// RFC 8878.
    static let zstd = bytes(
        """
        28b52ffd64930b450a00c65b401a604f8a0d9f7c322e9f68a2892d8aa2a2e4caeecdbc58c214a69c47003200
        33005699c44f36c735d5ff8ab6fcbda3d86bc6c46c099e4b831eac0f6fa8939358390e1a0407464600434441
        45e3907868a050382e1a068783452342e0581848a080380a10260e0009d8b30b59ed76562bc573a55bf2b57f
        a60e8eb36214c36b1adead9f9f5dd16c7f4f8cae9571de4a145bc9e8534d42521de33c94385567deaf235533
        95b245b09954557de51515f128d5fba0af56afd6a49495c8c835cddf19caac10fee7e6fcd2faa117e5e8cd1a
        dbf51f3c154fee9e94896a3797b56a66b26472aa9ac8d329c1cb8a495e36b3d2d30bbdaa9865ce1ec99cd5b2
        8c5a66142a053ca8118c30247a5bdb01a0998e01112404ffff2ff303d00204241440c10508c119000f70e324
        71f80a83e5104032222c4010927dd74d56cc6df0d3b1bc7f89a91180ac0230648922
        """)

    /// 32 MiB of zeros in brotli.
    static let brotliBomb = bytes(
        """
        cbffff3ff82700e2b14020f7fe8fffff7ff04f00c4611180eefd1fffffffe09f0088c30200ddfbbffcffffc3
        3f0110870500baf77f
        """)

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(digits[$0] << 4 | digits[$0 + 1])
        }
    }
}
