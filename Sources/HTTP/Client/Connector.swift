internal import CEvent
internal import Glibc
internal import Loop
internal import TLS

/// Connects with a server, by one of its addresses after the other.
@LoopActor
final class Connector {
    /// Why there is no connection.
    struct Failure: Error {
        let words: String
    }

    /// An address as connect(2) takes it.
    private struct Address: Sendable {
        let storage: sockaddr_storage
        let length: socklen_t
        let family: CInt
    }

    private let deadline: Uptime
    private var addresses: ArraySlice<Address> = []
    private var socket: CInt = -1
    private var watch: Watch?
    private var lastFailure = "it has no address"
    private var completion: (@LoopActor (Result<CInt, Failure>) -> Void)?
    private lazy var timer = LoopTimer { [weak self] in self?.timeIsUp() }

    /// - Parameters:
    ///   - limit: how long it may take.
    ///   - completion: called once, unless it is cancelled: with a connected, non-blocking socket.
    init(
        within limit: Duration,
        then completion: @escaping @LoopActor (Result<CInt, Failure>) -> Void
    ) {
        deadline = Uptime.now.advanced(by: limit)
        self.completion = completion
    }

    /// Begins; an address is used at once, a name is looked up on another thread, each time anew.
    func connect(to origin: ServerOrigin, by resolvers: FileThreads) {
        timer.arm(by: deadline)
        let (host, port) = (origin.host.text, origin.port)
        if origin.host.isAddress { return take(Connector.look(up: host, port, isAddress: true)) }
        lastFailure = "its name was not looked up in time"
        resolvers.submit {
            Connector.look(up: host, port, isAddress: false)
        } then: { [weak self] found in
            if case .success(let found) = found { self?.take(found) }
        }
    }

    func cancel() {
        completion = nil
        end()
    }

    private func end() {
        timer.cancel()
        watch = nil
        if socket >= 0 { close(socket) }
        socket = -1
    }

    private func finish(_ result: Result<CInt, Failure>) {
        if case .success = result { socket = -1 }
        let completion = completion.take()
        end()
        completion?(result)
    }

    private func take(_ found: Result<[Address], Failure>) {
        guard completion != nil else { return }
        switch found {
        case .success(let found):
            addresses = found[...]
            tryNext()
        case .failure(let failure): finish(.failure(failure))
        }
    }

    // MARK: Addresses

    private func tryNext() {
        watch = nil
        if socket >= 0 { close(socket) }
        socket = -1
        while let address = addresses.popFirst() {
            let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            socket = Glibc.socket(address.family, kind, 0)
            guard socket >= 0 else {
                return finish(.failure(Failure(words: Connector.words(errno))))
            }
            Connector.set(socket, CInt(IPPROTO_TCP), TCP_NODELAY)
            Connector.set(socket, SOL_SOCKET, SO_KEEPALIVE)
            let result = withUnsafeBytes(of: address.storage) {
                Glibc.connect(
                    socket, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, address.length)
            }
            if result == 0 { return finish(.success(socket)) }
            if errno == EINPROGRESS {
                // The others have their share of the time that is left.
                let left = max(0, deadline - .now) / Int64(addresses.count + 1)
                timer.arm(by: .now + left)
                watch = Watch(socket: socket, for: .write) { [unowned self] _ in hasConnected() }
                return
            }
            lastFailure = Connector.words(errno)
            close(socket)
            socket = -1
        }
        finish(.failure(Failure(words: lastFailure)))
    }

    private func hasConnected() {
        var code: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size)
        guard code != 0 else { return finish(.success(socket)) }
        lastFailure = Connector.words(code)
        tryNext()
    }

    private func timeIsUp() {
        if socket >= 0 { lastFailure = "it did not answer in time" }
        if addresses.isEmpty { return finish(.failure(Failure(words: lastFailure))) }
        tryNext()
    }

    // MARK: System calls

    /// The addresses of a host. Blocks for a name.
    private nonisolated static func look(
        up host: String, _ port: UInt16, isAddress: Bool
    ) -> Result<[Address], Failure> {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV | (isAddress ? AI_NUMERICHOST : AI_ADDRCONFIG)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else {
            return .failure(Failure(words: String(cString: gai_strerror(code))))
        }
        defer { freeaddrinfo(list) }
        var found: [Address] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ai_next
            var storage = sockaddr_storage()
            guard let address = entry.ai_addr,
                Int(entry.ai_addrlen) <= MemoryLayout<sockaddr_storage>.size
            else { continue }
            withUnsafeMutableBytes(of: &storage) {
                $0.copyMemory(
                    from: UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen)))
            }
            found.append(
                Address(storage: storage, length: entry.ai_addrlen, family: entry.ai_family))
        }
        return .success(found)
    }

    private static func set(_ socket: CInt, _ level: CInt, _ option: CInt) {
        var on: CInt = 1
        setsockopt(socket, level, option, &on, socklen_t(MemoryLayout<CInt>.size))
    }

    private static func words(_ code: CInt) -> String { String(cString: strerror(code)) }
}
