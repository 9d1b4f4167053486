internal import Loop

/// What all connections take together.
struct ServerLoad {
    /// Bytes of whole answers that wait for their clients of HTTP/2.
    var heldBytes = 0
    /// Requests that share their connection with others, and may each have a file open.
    var streamsRunning = 0
    /// Before then no connection is looked for that could make room: there was none.
    var nextSearch = Uptime.now
}
