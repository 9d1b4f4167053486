public import Engine
public import Semantics
internal import COpenSSL
internal import Synchronization

/// Digests by OpenSSL (FIPS 180-4; RFC 1321 for what servers still want).
public struct SHADigests: Digests {
    /// Digests of both algorithms.
    public init() {}

    /// A digest over no bytes yet.
    public func start(_ algorithm: DigestAlgorithm) -> any RunningDigest {
        switch algorithm {
        case .sha256: SHADigest(OpenSSL.sha256)
        case .sha512: SHADigest(OpenSSL.sha512)
        }
    }

    /// The digest of bytes that are all there.
    public func hash(_ bytes: [UInt8], by function: DigestProof.HashFunction) -> [UInt8] {
        let algorithm =
            switch function {
            case .md5: OpenSSL.md5
            case .sha256: OpenSSL.sha256
            }
        return [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { digest, count in
            var length: UInt32 = 0
            let isDone = EVP_Digest(
                bytes, bytes.count, digest.baseAddress, &length, algorithm, nil)
            precondition(isDone == 1, "OpenSSL digests whatever it is given")
            count = Int(length)
        }
    }

    /// HMAC-SHA256 (RFC 2104).
    public func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        OpenSSL.authenticationCode(of: bytes, key: key)
    }

    /// The same with a key that is prepared once: a fifth of the price for short bytes.
    public func authenticationCodes(with key: [UInt8]) -> @Sendable ([UInt8]) -> [UInt8] {
        let prepared = PreparedKey(key)
        return { prepared.code(of: $0) }
    }
}

/// A key of HMAC-SHA256 as OpenSSL prepares it.
private final class PreparedKey: Sendable {
    /// Begins anew with the same key each time.
    private let context: Mutex<Context>

    /// Only whoever has the lock touches it.
    private struct Context: @unchecked Sendable {
        let raw: OpaquePointer?
    }

    init(_ key: [UInt8]) {
        let algorithm = EVP_MAC_fetch(OpenSSL.context, "HMAC", nil)
        let raw = EVP_MAC_CTX_new(algorithm)
        EVP_MAC_free(algorithm)
        var name = Array("SHA256".utf8CString)
        let isDone = name.withUnsafeMutableBufferPointer { name in
            let parameters = [
                OSSL_PARAM_construct_utf8_string("digest", name.baseAddress, 0),
                OSSL_PARAM_construct_end(),
            ]
            return EVP_MAC_init(raw, key, key.count, parameters)
        }
        precondition(isDone == 1, "OpenSSL has no memory")
        context = Mutex(Context(raw: raw))
    }

    deinit { context.withLock { EVP_MAC_CTX_free($0.raw) } }

    func code(of bytes: [UInt8]) -> [UInt8] {
        context.withLock { context in
            [UInt8](unsafeUninitializedCapacity: 32) { code, count in
                let isDone =
                    EVP_MAC_init(context.raw, nil, 0, nil) == 1
                    && EVP_MAC_update(context.raw, bytes, bytes.count) == 1
                    && EVP_MAC_final(context.raw, code.baseAddress, &count, 32) == 1
                precondition(isDone, "OpenSSL has no memory")
            }
        }
    }
}

/// A value, as Swift's are: a copy goes on by itself.
private struct SHADigest: RunningDigest {
    private var state: State

    init(_ function: OpaquePointer?) {
        state = State()
        precondition(EVP_DigestInit_ex2(state.context, function, nil) == 1, "no such digest")
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if !isKnownUniquelyReferenced(&state) { state = State(copying: state) }
        precondition(
            EVP_DigestUpdate(state.context, bytes.baseAddress, bytes.count) == 1,
            "OpenSSL digests whatever it is given")
    }

    func value() -> [UInt8] {
        let end = State(copying: state)
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        precondition(
            EVP_DigestFinal_ex(end.context, &digest, &count) == 1, "a digest has an end")
        digest.removeLast(digest.count - Int(count))
        return digest
    }

    /// A state of OpenSSL's. Only who alone refers to it changes it, hence `@unchecked`.
    private final class State: @unchecked Sendable {
        let context = EVP_MD_CTX_new()

        init() {
            precondition(context != nil, "OpenSSL has no memory")
        }

        convenience init(copying other: State) {
            self.init()
            precondition(EVP_MD_CTX_copy_ex(context, other.context) == 1, "OpenSSL has no memory")
        }

        deinit { EVP_MD_CTX_free(context) }
    }
}
