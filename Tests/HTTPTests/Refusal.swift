import Files
import Glibc
import HTTP
import Loop

enum Refusal {
    /// Why another server cannot listen at `address`; nil when it can.
    @LoopActor
    static func listening(at address: ListenAddress) async -> ListenError? {
        do {
            let server = Server(router: try Router([])) { _, _ in Response(status: 500) }
            try server.listen(on: address)
            await server.drain(within: .zero)
            return nil
        } catch {
            return error as? ListenError
        }
    }
}

enum FilePermissions {
    /// The permission bits of a file.
    static func mode(of path: String) throws -> UInt32 {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw FileError("lstat", code: errno) }
        return status.st_mode & 0o777
    }

    /// Leaves the socket file of a server that has died.
    static func leaveStaleSocket(at path: String) throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw FileError("bind", code: errno) }
    }
}
