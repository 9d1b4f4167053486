internal import Glibc

/// The folder of the user, below which commands keep what they know.
public enum UserHome {
    /// The environment with a `HOME`: cron, systemd and `env -i` may have left it out, and then the
    /// system's own list of users has it.
    public static func completing(_ environment: [String: String]) -> [String: String] {
        guard environment["HOME"]?.hasPrefix("/") != true, let entry = getpwuid(geteuid()),
            let folder = entry.pointee.pw_dir
        else { return environment }
        let home = String(cString: folder)
        guard home.hasPrefix("/") else { return environment }
        return environment.merging(["HOME": home]) { $1 }
    }
}
