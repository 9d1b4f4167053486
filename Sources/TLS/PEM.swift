internal import COpenSSL
internal import Glibc

/// PEM files (RFC 7468), read whole so that what is checked is what is used.
enum PEM {
    static let sizeLimit = 1 << 20

    /// All certificates of a file, in their order.
    ///
    /// - Throws: `TLSFileError` also for a file without any.
    static func certificates(
        at path: String, sizeLimit: Int = sizeLimit
    ) throws(TLSFileError) -> [Certificate] {
        let bytes = try contents(of: path, sizeLimit: sizeLimit)
        var found: [Certificate] = []
        let rest = reading(bytes) { bio -> CUnsignedLong in
            while let certificate = PEM_read_bio_X509(bio, nil, refusePassphrase, nil) {
                found.append(Certificate(owning: certificate))
            }
            return ERR_peek_last_error()
        }
        // Behind the last one there is nothing that begins like another.
        let isWhole =
            ERR_GET_LIB(rest) == ERR_LIB_PEM && ERR_GET_REASON(rest) == PEM_R_NO_START_LINE
        let words = OpenSSLWords.takeError()
        guard isWhole else {
            throw .unusable("\(path) holds a certificate that cannot be read (\(words)).")
        }
        guard !found.isEmpty else {
            throw .unusable("\(path) holds no certificate in PEM.")
        }
        return found
    }

    /// The private key of a file.
    ///
    /// - Throws: `TLSFileError` also for one that needs a passphrase.
    static func privateKey(at path: String) throws(TLSFileError) -> PrivateKey {
        let bytes = try contents(of: path)
        let key = reading(bytes) { PEM_read_bio_PrivateKey($0, nil, refusePassphrase, nil) }
        let text = String(decoding: bytes, as: UTF8.self)
        let words = OpenSSLWords.takeError()
        guard let key else {
            guard !text.contains("ENCRYPTED") else {
                throw .unusable(
                    """
                    The key in \(path) needs a passphrase, which nobody is there to type: write it \
                    without one (openssl pkey -in \(path) -out NEW).
                    """)
            }
            throw .unusable("\(path) holds no private key in PEM (\(words)).")
        }
        return PrivateKey(owning: key)
    }

    /// What a certificate or key looks like in a file.
    static func text(_ write: (OpaquePointer) -> CInt) -> [UInt8]? {
        guard let bio = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(bio) }
        var start: UnsafeMutablePointer<CChar>?
        guard write(bio) == 1 else { return nil }
        let count = copenssl_written(bio, &start)
        return start.map { [UInt8](UnsafeRawBufferPointer(start: $0, count: count)) }
    }

    private static func reading<Result>(
        _ bytes: [UInt8], _ body: (OpaquePointer?) -> Result
    ) -> Result {
        ERR_clear_error()
        return bytes.withUnsafeBytes { buffer in
            let bio = BIO_new_mem_buf(buffer.baseAddress, CInt(buffer.count))
            defer { BIO_free(bio) }
            return body(bio)
        }
    }

    /// The bytes of a regular file; a pipe would keep the reader waiting.
    static func contents(
        of path: String, sizeLimit: Int = sizeLimit
    ) throws(TLSFileError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw .unreadable(path, errno) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw .unreadable(path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .unreadable(path, EINVAL) }
        guard status.st_size <= sizeLimit else {
            throw .unusable("\(path) is too large for certificates or a key.")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                read(file, $0.baseAddress.map { $0 + filled }, $0.count - filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable(path, errno) }
            if count == 0 { break }
            filled += count
        }
        return Array(bytes[..<filled])
    }
}

/// Why a file of certificates or keys is of no use.
public struct TLSFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A sentence or two for whoever has named the file: what is wrong, and what helps.
    public let description: String
    /// Whether the system did not let the file be read, or written.
    public let isOfSystem: Bool

    static func unusable(_ description: String) -> TLSFileError {
        TLSFileError(description: description, isOfSystem: false)
    }

    static func unreadable(_ path: String, _ code: CInt) -> TLSFileError {
        TLSFileError(
            description: "\(path) cannot be read: \(String(cString: strerror(code))).",
            isOfSystem: true)
    }
}

/// A door from OpenSSL, which would ask for a passphrase at the terminal: there is none.
private func refusePassphrase(
    _ room: UnsafeMutablePointer<CChar>?, _ size: CInt, _ isWriting: CInt,
    _ context: UnsafeMutableRawPointer?
) -> CInt { -1 }
