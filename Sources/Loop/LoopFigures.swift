public import Metrics

/// How the event loop has got on since its start.
public struct LoopFigures: Sendable {
    /// How long its turns took, without the time in which it had nothing to do: for so long nobody
    /// else had a turn.
    public internal(set) var turns = Histogram(.steps)
    /// How late a timer was that is due every second.
    public internal(set) var lag = Histogram(.steps)
    /// The processor time of its thread, in seconds.
    public internal(set) var processorTime = 0.0
}

/// How the jobs of a pool of file threads have got on since its start.
public struct FileThreadFigures: Sendable {
    /// Jobs that wait for a thread, or for the job before them in their lane.
    public internal(set) var waiting = 0
    /// Jobs that are being done.
    public internal(set) var running = 0
    /// How long jobs have waited.
    public internal(set) var waits = Histogram(.steps)
    /// How long jobs took.
    public internal(set) var times = Histogram(.steps)
}
