import Client
import Foundation
import Glibc

/// The process's own environment.
enum ProcessEnvironment {
    /// Its variables, without those of these names: their values are overwritten where the kernel
    /// shows them (`/proc/PID/environ`), and no program that is started gets them.
    ///
    /// - Returns: the others, and what was taken.
    static func taking(
        _ names: [String]
    ) -> (variables: [String: String], taken: [String: String]) {
        var variables = ProcessInfo.processInfo.environment
        var taken: [String: String] = [:]
        for name in names {
            taken[name] = variables.removeValue(forKey: name)
            if let value = getenv(name) { explicit_bzero(value, strlen(value)) }
            unsetenv(name)
        }
        return (UserHome.completing(variables), taken)
    }
}
