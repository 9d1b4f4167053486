import Foundation
import Glibc
import TestSupport

/// A network of its own, without a route at first, that a test may change without privileges: a
/// process of Python's in a user and network namespace (namespaces(7)), which hands out sockets of
/// that network.
final class Namespace {
    private let process: ChildProcess
    private let folder: TemporaryDirectory
    private let line: CInt

    /// Nil where this machine lets nobody have one, as some containers do not.
    init?() async throws {
        folder = try TemporaryDirectory()
        process = try ChildProcess("python3", ["-u", "-c", Self.script, folder.file("line")])
        guard try await process.waitForLine() == "ready" else { return nil }
        line = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: folder.file("line").utf8) }
        let result = withUnsafeBytes(of: name) {
            connect(
                line, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
        }
        guard result == 0 else { throw NoAnswer() }
    }

    deinit {
        close(line)
    }

    /// Brings its loopback up or down, and with it addresses and routes.
    func setLoopback(isUp: Bool, times: Int = 1) throws {
        _ = try ask(isUp ? "up \(times)" : "down \(times)")
    }

    /// A UDP socket, of version 4 or 6.
    func socket(version: Int) throws -> CInt { try ask("udp \(version)") }

    /// A socket that hears of changes, and has room for few.
    func routeSocket() throws -> CInt { try ask("netlink 0") }

    struct NoAnswer: Error {}

    /// Sends a command and waits for its answer: one byte, maybe with a descriptor.
    private func ask(_ command: String) throws -> CInt {
        let bytes = Array((command + "\n").utf8)
        guard send(line, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count else {
            throw NoAnswer()
        }
        var byte: UInt8 = 0
        // A cmsghdr of 16 bytes and one descriptor (cmsg(3)).
        var control = [UInt8](repeating: 0, count: 24)
        let count = withUnsafeMutablePointer(to: &byte) { byte in
            control.withUnsafeMutableBytes { control in
                var part = iovec(iov_base: byte, iov_len: 1)
                return withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    (message.msg_iov, message.msg_iovlen) = (part, 1)
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    return recvmsg(line, &message, CInt(MSG_CMSG_CLOEXEC))
                }
            }
        }
        guard count == 1 else { throw NoAnswer() }
        return control.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 16, as: CInt.self) }
    }

    private static let script = #"""
        import ctypes, fcntl, socket, struct, sys
        CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(sys.argv[1])
        listener.listen()
        if ctypes.CDLL(None).unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            sys.exit(print("none"))
        print("ready")
        client, _ = listener.accept()

        def set_loopback(is_up):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any:
                fcntl.ioctl(any, 0x8914, struct.pack("16sH14x", b"lo", is_up))

        for line in client.makefile():
            word, number = line.split()
            made = []
            if word == "udp":
                family = socket.AF_INET if number == "4" else socket.AF_INET6
                made = [socket.socket(family, socket.SOCK_DGRAM)]
            elif word == "netlink":
                made = [socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)]
                made[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
                made[0].bind((0, 0x551))
            else:
                for turn in range(int(number)):
                    set_loopback((word == "up") == (turn % 2 == 0))
            socket.send_fds(client, [b"."], [any.fileno() for any in made])
        """#
}
