import Files
import Glibc
import TLS

/// The directory of `ferry certificate`: an authority, and the pairs that it has signed.
struct CertificateFolder {
    /// Its path, as it was given.
    let path: String

    /// The path of a file in it.
    func file(_ name: String) -> String {
        path.hasSuffix("/") ? path + name : path + "/" + name
    }

    /// Whether files can be called so; those of the authority and the gateway have other owners.
    static func isClientName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && !name.hasPrefix(".") && !name.hasPrefix("-")
            && !["authority", "gateway"].contains(name)
            && name.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || "._-@".contains($0))
            }
    }

    /// The authority that is there, else a new one, which is there from then on.
    ///
    /// - Throws: `Refusal`, `TLSFileError`.
    func authority(named name: String) throws -> CertificateAuthority {
        if let authority = try existingAuthority() { return authority }
        let authority = try CertificateAuthority(name: name)
        try makeFolder()
        try write(authority.pair.key, to: "authority.key", mode: 0o600, replaces: false)
        try write(authority.pair.certificate, to: "authority.pem", mode: 0o644, replaces: false)
        return authority
    }

    /// The hosts of the pair of that name that is there, of none for a client's; nil where there is
    /// no pair.
    ///
    /// - Throws: `Refusal` where it is of another authority: then it is not to be replaced.
    func formerHosts(of name: String) throws -> [HostName]? {
        let (certificate, key) = (file("\(name).pem"), file("\(name).key"))
        guard exists(certificate) else {
            guard !exists(key) else { throw refusal(key) }
            return nil
        }
        guard let authority = try existingAuthority(),
            let hosts = try authority.hosts(ofCertificate: certificate)
        else { throw refusal(certificate) }
        return hosts
    }

    /// Puts a pair there, in place of a former one. The key comes first: a gateway that looks in
    /// between sees that they do not belong together, and waits.
    ///
    /// - Throws: `Refusal`.
    func write(_ pair: CertificateAuthority.Pair, as name: String) throws(Refusal) {
        try write(pair.key, to: "\(name).key", mode: 0o600, replaces: true)
        try write(pair.certificate, to: "\(name).pem", mode: 0o644, replaces: true)
    }

    private func existingAuthority() throws -> CertificateAuthority? {
        let (certificate, key) = (file("authority.pem"), file("authority.key"))
        switch (exists(certificate), exists(key)) {
        case (false, false): return nil
        case (true, true): return try CertificateAuthority(certificate: certificate, key: key)
        case (true, false):
            throw Refusal(
                description: """
                    \(key) is missing: without it nothing can be signed. Put it back, or name another \
                    directory for a new authority.
                    """, code: 66)
        case (false, true):
            throw Refusal(
                description: """
                    \(certificate) is missing, and its key is there. Put it back, or name another \
                    directory for a new authority.
                    """, code: 66)
        }
    }

    private func refusal(_ path: String) -> Refusal {
        Refusal(
            description: """
                \(path) is there, and not of the authority in \(file("authority.pem")): it is not \
                replaced. Name another directory with --directory.
                """, code: 78)
    }

    private func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    private func makeFolder() throws(Refusal) {
        guard mkdir(path, 0o755) != 0, errno != EEXIST else { return }
        throw unwritable(path, FileError("mkdir", code: errno))
    }

    /// Whole or not at all.
    private func write(
        _ bytes: [UInt8], to name: String, mode: mode_t, replaces: Bool
    ) throws(Refusal) {
        let place = file(name)
        do throws(FileError) {
            try WholeFile(place, mode: mode).write(bytes, replaces: replaces)
        } catch {
            throw unwritable(place, error)
        }
    }

    private func unwritable(_ path: String, _ error: FileError) -> Refusal {
        Refusal(description: "\(path) cannot be written: \(error.words)", code: 73)
    }
}
