import Engine
import Foundation
import Sealing
import Semantics
import Syntax
import Testing

@Suite struct SealingTests {
    private let context = SealContext(tenant: World.alice, owner: 7, field: "request")

    @Test(arguments: [0, 1, 15, 16, 17, 4096])
    func `what is sealed opens again`(count: Int) throws {
        let sealer = AESGCMSealer(key: DataKey())
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let sealed = try sealer.seal(bytes, for: context)
        // Version, nonce and tag.
        #expect(sealed.count == 1 + 12 + count + 16)
        #expect(try sealer.open(sealed, for: context) == bytes)
        #expect(try sealer.seal(bytes, for: context) != sealed)
    }

    @Test func `no nonce is used twice, whoever seals`() async throws {
        let sealer = AESGCMSealer(key: DataKey())
        let nonces = try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { [context] in
                    try (0..<600).map { _ in try sealer.seal([], for: context)[1..<13] }
                }
            }
            return try await group.reduce(into: Set()) { $0.formUnion($1) }
        }
        #expect(nonces.count == 2_400)
    }

    @Test func `what another library has sealed opens`() throws {
        let key = try #require(DataKey(bytes: Array(0..<32)))
        // By AESGCM of Python's cryptography, with the nonce 0…11.
        let text = "01000102030405060708090a0b4600d59e8528c2ce6046943250bf74b3546a99"
        let sealed = try #require(Hex.bytes(of: text))
        #expect(try AESGCMSealer(key: key).open(sealed, for: context) == [1, 2, 3])
    }

    @Test func `a mark is of its key, its context and its bytes alone`() throws {
        let key = try #require(DataKey(bytes: Array(0..<32)))
        let mark = AESGCMSealer(key: key).mark([1, 2, 3], for: context)
        #expect(AESGCMSealer(key: key).mark([1, 2, 3], for: context) == mark)
        // HMAC-SHA-256 under HKDF's key, as Python's hmac has it: what is on disks is found again.
        #expect(mark == 4805550732889379800)
        var others = [AESGCMSealer(key: DataKey()).mark([1, 2, 3], for: context)]
        for bytes: [UInt8] in [[], [1, 2], [1, 2, 3, 0], [3, 2, 1]] {
            others.append(AESGCMSealer(key: key).mark(bytes, for: context))
        }
        var contexts = [context, context, context]
        contexts[0].tenant = World.bob
        contexts[1].owner = 8
        contexts[2].field = "status"
        others += contexts.map { AESGCMSealer(key: key).mark([1, 2, 3], for: $0) }
        // What ends the one begins the other.
        var shorter = context
        shorter.field.removeLast()
        others.append(
            AESGCMSealer(key: key).mark([UInt8(ascii: "t"), 1, 2, 3], for: shorter))
        #expect(Set(others).count == others.count && !others.contains(mark))
    }

    @Test func `another key, another context and any changed byte are refused`() throws {
        let sealer = AESGCMSealer(key: DataKey())
        let sealed = try sealer.seal([1, 2, 3], for: context)
        #expect(throws: SealError.notAuthentic) {
            try AESGCMSealer(key: DataKey()).open(sealed, for: context)
        }
        var contexts = [context, context, context]
        contexts[0].tenant = World.bob
        contexts[1].owner = 8
        contexts[2].field = "status"
        for context in contexts {
            #expect(throws: SealError.notAuthentic) { try sealer.open(sealed, for: context) }
        }
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: SealError.notAuthentic) { try sealer.open(changed, for: context) }
            #expect(throws: SealError.notAuthentic) {
                try sealer.open(Array(sealed[..<index]), for: context)
            }
        }
    }

    @Test func `a key file is made once, for its owner only`() async throws {
        try await withKeyFolder { path in
            let sealed = try AESGCMSealer(key: try DataKey.loadOrCreate(at: path))
                .seal([1, 2, 3], for: context)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            #expect((attributes[.size] as? NSNumber)?.intValue == 32)
            let again = AESGCMSealer(key: try DataKey.loadOrCreate(at: path))
            #expect(try again.open(sealed, for: context) == [1, 2, 3])
            let folder = (path as NSString).deletingLastPathComponent
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["key"])
        }
    }

    @Test(arguments: [0o644, 0o640, 0o604, 0o700])
    func `a key file that others may use is refused`(mode: Int) async throws {
        try await withKeyFolder { path in
            _ = try DataKey.loadOrCreate(at: path)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            #expect(throws: DataKeyError.tooOpen(path: path, mode: UInt32(mode))) {
                try DataKey.loadOrCreate(at: path)
            }
        }
    }

    @Test(arguments: [0, 31, 33])
    func `a key file of another size is refused and left alone`(count: Int) async throws {
        try await withKeyFolder { path in
            let bytes = Data(repeating: 1, count: count)
            #expect(
                FileManager.default.createFile(
                    atPath: path, contents: bytes, attributes: [.posixPermissions: 0o600]))
            #expect(throws: DataKeyError.wrongSize(path: path, found: count)) {
                try DataKey.loadOrCreate(at: path)
            }
            #expect(FileManager.default.contents(atPath: path) == bytes)
        }
    }

    @Test func `a link or a folder is no key file`() async throws {
        try await withKeyFolder { path in
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: "/dev/null")
            #expect(throws: DataKeyError.self) { try DataKey.loadOrCreate(at: path) }
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false)
            #expect(throws: DataKeyError.notAFile(path: path)) {
                try DataKey.loadOrCreate(at: path)
            }
        }
    }

    // The digests of "abc" (FIPS 180-4, examples).
    @Test(arguments: [
        (
            DigestAlgorithm.sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        ),
        (
            .sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
    ])
    func `a digest grows with its input`(algorithm: DigestAlgorithm, hex: String) {
        var digest = SHADigests().start(algorithm)
        for piece in [[UInt8(ascii: "a")], [], [UInt8(ascii: "b"), UInt8(ascii: "c")]] {
            piece.withUnsafeBytes { digest.update($0) }
            _ = digest.value()
        }
        #expect(digest.value().map { String(format: "%02x", $0) }.joined() == hex)
        #expect(digest.value().count == algorithm.byteCount)
    }

    private func withKeyFolder(_ body: (String) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false)
            try await body(folder + "/key")
        }
    }
}
