internal import CCurl
internal import Engine
internal import Files
internal import Loop
internal import Semantics

/// Where the connections of an attempt may go, and what has become of the sockets that
/// libcurl wanted for them.
@LoopActor
struct AttemptDestinations {
    private let gate: EgressGate
    /// Whether a destination was denied, which has ended the transfer.
    private(set) var wasDenied = false
    /// The addresses that libcurl got a socket for.
    private(set) var tried: [IPAddress] = []
    /// The sockets that were made for the connection that is wanted.
    private(set) var sockets: [CInt] = []
    /// libcurl wanted a socket, and the process had no descriptor.
    private var lacksDescriptor = false
    private var descriptorTimer: LoopTimer?

    init(_ gate: EgressGate) {
        self.gate = gate
    }

    /// The socket, if it may be made; nil is one whose address is none of the internet's.
    mutating func permitted(_ wanted: WantedSocket?) -> WantedSocket? {
        guard let wanted, gate.mayMake(wanted) else {
            wasDenied = true
            return nil
        }
        return wanted
    }

    /// Makes a socket for libcurl, which takes `ccurl_socket_bad` for a failure.
    mutating func make(_ wanted: WantedSocket, in pool: CurlPool) -> CInt {
        do throws(FileError) {
            let socket = try pool.make(wanted)
            tried.append(wanted.ip)
            sockets.append(socket)
            return socket
        } catch {
            if error.isOutOfDescriptors { lacksDescriptor = true } else { tried.append(wanted.ip) }
            return ccurl_socket_bad
        }
    }

    /// Whether a request may go out to where the connection leads.
    mutating func mayRequest(on connection: ConnectionEnds) -> Bool {
        wasDenied = !gate.mayRequest(address: connection.address, port: connection.port)
        return !wasDenied
    }

    // MARK: Want of descriptors

    /// Whether a transfer has failed for want of a descriptor.
    ///
    /// Of a socket this is known. Of what libcurl opens by itself, the resolver's files and sockets
    /// and the trusted certificates, it does not tell the reason; then the process is asked.
    func isShortOfDescriptors(after code: CURLcode) -> Bool {
        switch code {
        case CURLE_COULDNT_CONNECT: lacksDescriptor
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_SSL_CACERT_BADFILE:
            SpareDescriptors.areLacking
        default: false
        }
    }

    /// Calls back in a while; the request's own time runs on.
    mutating func waitForDescriptor(then goOn: @escaping @LoopActor () -> Void) {
        let timer = LoopTimer(action: goOn)
        timer.arm(after: .milliseconds(100))
        descriptorTimer = timer
    }

    /// The same is tried again.
    mutating func beginAnew() {
        lacksDescriptor = false
        tried = []
        sockets = []
    }

    /// Nothing is waited for any more.
    mutating func letGo() { descriptorTimer = nil }
}
