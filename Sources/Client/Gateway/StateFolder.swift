internal import Glibc

/// Where commands keep what outlives them.
enum StateFolder {
    /// `$XDG_STATE_HOME/ferry`, or `~/.local/state/ferry`; nil where neither is known.
    static func path(_ environment: [String: String]) -> String? {
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") {
            return state + "/ferry"
        }
        if let home = environment["HOME"], home.hasPrefix("/") {
            return home + "/.local/state/ferry"
        }
        return nil
    }

    /// The folder, made where there is none. Where the home cannot be written, as that of a service
    /// or in a container, it is `ferry-UID` in `$TMPDIR`, or in `/tmp`: this user's alone.
    ///
    /// - Parameter environment: of the process.
    /// - Returns: the path of a folder that can be written.
    /// - Throws: `noStart` where there is none.
    static func made(_ environment: [String: String]) throws(ClientError) -> String {
        let usual = path(environment)
        if let usual, isMade(usual) { return usual }
        // Whoever names a place wants that one.
        let isNamed = environment["XDG_STATE_HOME"]?.hasPrefix("/") == true
        let place = isNamed ? nil : temporary(environment)
        if let place, isOwn(place) { return place }
        let tried = [usual, place].compactMap { $0 }.joined(separator: " and ")
        throw .noStart(
            detail: """
                it would keep its data in \(tried), where you cannot write: set XDG_STATE_HOME to a \
                folder where you can, or name a gateway that runs by --gateway
                """)
    }

    private static func temporary(_ environment: [String: String]) -> String {
        let folder = environment["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        return folder + (folder.hasSuffix("/") ? "" : "/") + "ferry-\(geteuid())"
    }

    private static func isMade(_ path: String) -> Bool {
        guard (try? LocalFile.makeFolder(path)) != nil else { return false }
        return faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0
    }

    /// Makes a folder where anybody can make one, and tells whether it is this user's: another one
    /// may have been faster, or have put a link there.
    private static func isOwn(_ path: String) -> Bool {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { return false }
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }
}
