internal import CCurl
internal import Engine
internal import Glibc
internal import Loop
internal import Semantics

/// What an attempt does that the process has no descriptor for: it waits, and is tried again
///
extension CurlAttempt {
    /// Whether a transfer has failed for want of a descriptor, and nothing has been sent that may
    /// not be sent again.
    ///
    /// Of a socket this is known. Of what libcurl opens by itself, the resolver's files and sockets
    /// and the trusted certificates, it does not tell the reason; then the process is asked.
    func isShortOfDescriptors(after code: CURLcode, _ easy: EasyHandle) -> Bool {
        guard !isEnding, !wasDenied, !wasAnswered, request.mayRepeat || !wasSwallowed else {
            return false
        }
        switch code {
        case CURLE_COULDNT_CONNECT: return lacksDescriptor
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_SSL_CACERT_BADFILE:
            return SpareDescriptors.areLacking
        default: return false
        }
    }

    /// The same is tried in a while, on a connection that is kept or on one that can be made then.
    func waitToTryAgain(instead easy: EasyHandle) {
        noteEarlierRequest()
        pool?.lacksDescriptor(for: self) { [weak self] in
            guard let self, observer != nil, self.easy === easy else { return }
            lacksDescriptor = false
            tried = []
            clock.restart()
            do throws(CurlFailure) {
                try pool?.tryAgain(self, instead: easy)
            } catch {
                finish(AttemptOutcome.error(of: error, at: request.url))
            }
        }
    }

    /// Calls back in a while; the request's own time runs on.
    func waitForDescriptor(then goOn: @escaping @LoopActor () -> Void) {
        let timer = LoopTimer(action: goOn)
        timer.arm(after: .milliseconds(100))
        descriptorTimer = timer
    }

    /// CURLOPT_OPENSOCKETFUNCTION. The address is nil where it is none of the internet's.
    func openSocket(_ address: SocketAddress?) -> CInt {
        guard observer != nil, let pool else { return ccurl_socket_bad }
        guard let address, gate.mayConnect(to: address) else {
            wasDenied = true
            return ccurl_socket_bad
        }
        upload?.connects()
        tunnel.connects()
        clock.connects(sent: requestSize)
        do throws(FileError) {
            let socket = try pool.makeSocket(for: address)
            tried.append(address.ip)
            return socket
        } catch {
            if error.isOutOfDescriptors { lacksDescriptor = true } else { tried.append(address.ip) }
            return ccurl_socket_bad
        }
    }
}

/// Whether the process has descriptors left.
enum SpareDescriptors {
    /// A look-up takes a pair of sockets, one for the question, and a file.
    private static let enough = 4

    /// Whether there are not enough for one more look-up. Some 5 µs.
    static var areLacking: Bool {
        var opened: [CInt] = []
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < enough {
            let type = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
            let descriptor = socket(AF_UNIX, type, 0)
            guard descriptor >= 0 else {
                return FileError("socket", code: errno).isOutOfDescriptors
            }
            opened.append(descriptor)
        }
        return false
    }
}
