import Synchronization

/// What a scripted origin keeps count of; shared with its connection threads.
final class Ledger: Sendable {
    struct Entries {
        var requests: [RecordedRequest] = []
        var attempts: [String: Int] = [:]
        var routes: [String: Behaviour] = [:]
        var fallback: Behaviour?
        var connectionHandler: ConnectionHandler?
        var open: [Int: Socket] = [:]
        var connectionCount = 0
        var activeRequests = 0
        var mostActiveRequests = 0
        var mostOpenConnections = 0
        var isStopped = false
    }

    typealias ConnectionHandler = @Sendable (Wire) throws -> Void

    let entries = Mutex(Entries())
    let bytesSent = Atomic<UInt64>(0)

    /// Enters a connection; nil when the origin has stopped.
    func opened(_ socket: Socket) -> Int? {
        entries.withLock {
            guard !$0.isStopped else { return nil }
            $0.connectionCount += 1
            $0.open[$0.connectionCount] = socket
            $0.mostOpenConnections = max($0.mostOpenConnections, $0.open.count)
            return $0.connectionCount
        }
    }

    func closed(_ connection: Int) {
        entries.withLock { _ = $0.open.removeValue(forKey: connection) }
    }

    /// Enters a request; tells its place in the list and how it is to be answered.
    func began(
        method: String, target: String, headers: HeaderLines, connection: Int
    ) -> (index: Int, request: RecordedRequest, behaviour: Behaviour) {
        entries.withLock {
            let path = RecordedRequest.path(of: target)
            $0.attempts[path, default: 0] += 1
            let request = RecordedRequest(
                method: method, target: target, headers: headers, connection: connection,
                attempt: $0.attempts[path, default: 1])
            $0.requests.append(request)
            $0.activeRequests += 1
            $0.mostActiveRequests = max($0.mostActiveRequests, $0.activeRequests)
            let behaviour = $0.routes[path] ?? $0.fallback ?? .fixed(404)
            return ($0.requests.count - 1, request, behaviour)
        }
    }

    /// Takes what has become known of a request.
    func update(_ index: Int, _ request: RecordedRequest) {
        entries.withLock { $0.requests[index] = request }
    }

    func ended(_ index: Int, _ request: RecordedRequest) {
        entries.withLock {
            $0.requests[index] = request
            $0.activeRequests -= 1
        }
    }

    /// Shuts every connection down, so that its thread ends.
    func stop() {
        let sockets = entries.withLock {
            $0.isStopped = true
            return Array($0.open.values)
        }
        for socket in sockets { socket.interrupt() }
    }
}
