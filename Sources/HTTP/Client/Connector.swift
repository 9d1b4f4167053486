internal import CEvent
internal import Files
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

    private let deadline: Uptime
    private var addresses: ArraySlice<SocketAddress> = []
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

    /// Begins; an address is used at once, a name is looked up.
    func connect(to origin: ServerOrigin, by names: NameLookups) {
        timer.arm(by: deadline)
        let host = origin.host.text
        if origin.host.isAddress {
            return take(SocketAddress.lookUp(host, flags: AI_NUMERICHOST), port: origin.port)
        }
        lastFailure = "its name was not looked up in time"
        names.find(host) { [weak self] in self?.take($0, port: origin.port) }
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

    private func take(_ found: NameLookups.Outcome, port: UInt16) {
        guard completion != nil else { return }
        switch found {
        case .success(let found):
            addresses = found[...]
            for index in addresses.indices { addresses[index].port = port }
            tryNext()
        case .failure(let error): finish(.failure(Failure(words: error.words)))
        }
    }

    // MARK: Addresses

    private func tryNext() {
        watch = nil
        if socket >= 0 { close(socket) }
        socket = -1
        while let address = addresses.popFirst() {
            do throws(FileError) {
                socket = try address.makeSocket()
            } catch {
                lastFailure = error.words
                // Without descriptors there is none for the others either; without IPv6, or IPv4,
                // there may be.
                if error.isOutOfDescriptors { break }
                continue
            }
            SocketOption.turnOn(TCP_NODELAY, CInt(IPPROTO_TCP), of: socket)
            SocketOption.turnOn(SO_KEEPALIVE, SOL_SOCKET, of: socket)
            let code = address.connect(socket)
            if code == 0 { return finish(.success(socket)) }
            if code == EINPROGRESS {
                // The others have their share of the time that is left.
                let left = max(0, deadline - .now) / Int64(addresses.count + 1)
                timer.arm(by: .now + left)
                watch = Watch(socket: socket, for: .write) { [unowned self] _ in hasConnected() }
                return
            }
            lastFailure = Connector.words(code)
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

    private static func words(_ code: CInt) -> String { String(cString: strerror(code)) }
}
