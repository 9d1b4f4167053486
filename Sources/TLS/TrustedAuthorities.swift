/// A file of authorities in PEM, as others read it.
public enum TrustedAuthorities {
    /// More than any list of authorities.
    private static let sizeLimit = 64 << 20

    /// Refuses a file that whoever trusts what is in it could not use.
    ///
    /// - Parameter path: of a regular file with certificates in PEM.
    /// - Throws: `TLSFileError` for one that cannot be read, or without a certificate.
    public static func check(_ path: String) throws(TLSFileError) {
        _ = try PEM.certificates(at: path, sizeLimit: sizeLimit)
    }
}
