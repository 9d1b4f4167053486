internal import CCurl

/// The connections of a command to its gateway, and everything that moves on them: a multi handle
/// of libcurl that one thread drives, turn by turn.
final class Connections {
    private let handle: UnsafeMutableRawPointer
    private var running: [UnsafeMutableRawPointer: HTTPExchange] = [:]

    init() {
        guard let handle = curl_multi_init() else {
            preconditionFailure("libcurl has no memory for its first handle")
        }
        self.handle = handle
    }

    deinit {
        for easy in running.keys { curl_multi_remove_handle(handle, easy) }
        curl_multi_cleanup(handle)
    }

    /// Starts an exchange; it moves with the next turns.
    func start(_ exchange: HTTPExchange) {
        let code = curl_multi_add_handle(handle, exchange.handle)
        guard code == CURLM_OK else {
            exchange.end(broken: String(cString: curl_multi_strerror(code)))
            return
        }
        running[exchange.handle] = exchange
    }

    /// Ends an exchange without its outcome, and closes its connection unless it was over.
    func stop(_ exchange: HTTPExchange) {
        guard running.removeValue(forKey: exchange.handle) != nil else { return }
        curl_multi_remove_handle(handle, exchange.handle)
    }

    /// Waits at most `limit` for something to happen, and lets it happen.
    func turn(within limit: Duration) {
        let (seconds, attoseconds) = limit.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        var ready: Int32 = 0
        curl_multi_poll(handle, nil, 0, Int32(clamping: max(0, milliseconds)), &ready)
        var active: Int32 = 0
        curl_multi_perform(handle, &active)
        var left: Int32 = 0
        while let message = curl_multi_info_read(handle, &left)?.pointee {
            guard message.msg == CURLMSG_DONE, let easy = message.easy_handle else { continue }
            let exchange = running.removeValue(forKey: easy)
            curl_multi_remove_handle(handle, easy)
            exchange?.end(message.data.result)
        }
    }
}
