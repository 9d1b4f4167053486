/// The client's own certificate and key, as `--cert` and `--key` name them.
public struct IdentityFile: Equatable, Sendable {
    /// What is in the files.
    enum Form: Equatable, Sendable {
        case pem(certificate: String, key: String)
        case pkcs12([UInt8])
    }

    /// The certificate's file, as it was named.
    public let path: String
    let form: Form
    /// What opens a PKCS #12 file; nil where it has to be asked for.
    public let passphrase: String?

    /// The environment variable with the passphrase of a PKCS #12 file.
    public static let passphraseVariable = "FERRY_CERT_PASSPHRASE"
    private static let byteLimit = 256 << 10

    /// Reads a PEM file with the certificate and, in it or in the file `key`, the private key
    /// without a passphrase; or a PKCS #12 file, which has both.
    ///
    /// Blocks on the file system.
    /// - Throws: `unreadable`, `badArgument`.
    public init(
        path: String, key: String? = nil, environment: [String: String]
    ) throws(ClientError) {
        self.path = path
        let bytes = try IdentityFile.read(path)
        let text = String(validating: bytes, as: UTF8.self)
        guard let text, text.contains("-----BEGIN ") else {
            guard key == nil else {
                throw .badArgument("--key goes with a PEM certificate, and \(path) is none")
            }
            form = .pkcs12(bytes)
            passphrase = environment[IdentityFile.passphraseVariable]
            return
        }
        let keyText = try key.map { path throws(ClientError) in
            String(decoding: try IdentityFile.read(path), as: UTF8.self)
        }
        let keyOrOwn = keyText ?? text
        guard keyOrOwn.contains("PRIVATE KEY-----") else {
            throw .badArgument(
                "\(key ?? path) has no private key" + (key == nil ? ": give --key" : ""))
        }
        guard !keyOrOwn.contains("ENCRYPTED") else {
            throw .badArgument(
                "the key in \(key ?? path) has a passphrase: give a PKCS #12 file with --cert instead"
            )
        }
        form = .pem(certificate: text, key: keyOrOwn)
        passphrase = nil
    }

    private static func read(_ path: String) throws(ClientError) -> [UInt8] {
        do throws(ClientError) {
            if let bytes = try LocalFile.read(path, limit: byteLimit, onlyOwn: false) {
                return bytes
            }
        } catch .file(let path, let detail) {
            throw .unreadable(path: path, detail: detail)
        }
        throw .unreadable(path: path, detail: "no such file")
    }

    /// Whether a passphrase is needed and not known.
    public var wantsPassphrase: Bool {
        if case .pkcs12 = form { passphrase == nil } else { false }
    }

    /// The credential, opened with that passphrase where one is needed.
    public func credential(passphrase: String? = nil) -> DecisionReply.Credential {
        switch form {
        case .pem(let certificate, let key): .pem(certificate: certificate, key: key)
        case .pkcs12(let bytes):
            .pkcs12(bytes, passphrase: passphrase ?? self.passphrase ?? "")
        }
    }
}
