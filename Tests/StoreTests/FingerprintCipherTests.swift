import Engine
import GRDB
import Semantics
import Testing

@testable import SQLiteStore

/// What a database tells of the URLs that were fetched: nothing.
@Suite struct FingerprintCipherTests {
    // The vectors that implementations of XTEA are checked with (as in Botan, Crypto++ and Bouncy Castle).
    @Test(arguments: [
        (key: 0, block: 0x4142_4344_4546_4748, enciphered: 0x497D_F3D0_7261_2CB5 as UInt64),
        (key: 0, block: 0x4141_4141_4141_4141, enciphered: 0xE78F_2D13_7443_41D8),
        (key: 0, block: 0x5A5B_6E27_8948_D77F, enciphered: 0x4141_4141_4141_4141),
        (key: nil, block: 0x4142_4344_4546_4748, enciphered: 0xA039_0589_F8B8_EFA5),
        (key: nil, block: 0x4141_4141_4141_4141, enciphered: 0xED23_375A_821A_8C2D),
    ])
    func `the block cipher is XTEA`(key: UInt8?, block: UInt64, enciphered: UInt64) {
        let bytes = (0..<16).map { UInt8($0) }
        let cipher = XTEA(key: key == nil ? ArraySlice(repeating: 0, count: 16) : bytes[...])
        #expect(cipher.encipher(block) == enciphered)
        #expect(cipher.decipher(enciphered) == block)
    }

    @Test func `a mark tells its fingerprint to its session and its key alone`() throws {
        let key = (0..<32).map { UInt8($0) }
        let cipher = try #require(FingerprintCipher(key: key))
        #expect(FingerprintCipher(key: Array(key.dropLast())) == nil)
        let session = SessionID(rawValue: 7)
        let marks = cipher.marks(of: session)
        for fingerprint in [0, 1, -1, .max, .min, 1 << 32, -0x3141_5926_5358] as [Int64] {
            let mark = marks.mark(fingerprint)
            #expect(mark != fingerprint)
            #expect(marks.fingerprint(mark) == fingerprint)
            #expect(cipher.marks(of: SessionID(rawValue: 8)).mark(fingerprint) != mark)
            for place in [0, 15, 16, 31] {
                var other = key
                other[place] ^= 1
                #expect(
                    FingerprintCipher(key: other)?.marks(of: session).mark(fingerprint) != mark)
            }
        }
    }

    @Test func `the index of stored responses has no hash of a URL, and none in common`()
        async throws
    {
        try await withFolder { folder, sealer in
            var marks: [Int64] = []
            var world = World()
            let sessions = [world.makeSession(), world.makeSession()]
            var batch = world.batch(sessions[0], sessions[1])
            batch.cacheEntries = sessions.map { world.makeResponse(in: $0) }
            let fingerprint = batch.cacheEntries[0].entry.response.key.fingerprint
            for folder in [folder, folder + "/other"] {
                let store = try DurableStore(folder: folder, sealer: sealer)
                try await store.commit(batch)
                marks += try await store.pool.read {
                    try Int64.fetchAll($0, sql: "SELECT mark FROM cache_entry ORDER BY id")
                }
                try store.close()
                // It is the database's for good.
                let again = try DurableStore(folder: folder, sealer: sealer)
                for session in sessions {
                    #expect(
                        try await again.cacheEntries(of: session, under: fingerprint).count == 1)
                }
                try again.close()
            }
            #expect(marks.count == 4 && Set(marks).count == 4 && !marks.contains(fingerprint))
        }
    }
}
