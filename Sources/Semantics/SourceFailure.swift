/// Which ends of an attempt another source, a mirror, may do better at.
public enum SourceFailure {
    /// Whether a status tells that the source does not have the content, or does not give it. 416
    /// speaks of a range that the gateway itself has asked for, and is judged with it.
    public static func isFailure(status: Int) -> Bool {
        status >= 400 && status != 416
    }

    /// Whether an error is the source's: not where the task itself, its client or the gateway's
    /// disk is at fault.
    public static func isFailure(_ error: TransferError) -> Bool {
        switch error.kind {
        case .url(.cancelled), .url(.cannotWriteToFile), .url(.cannotOpenFile),
            .url(.requestBodyStreamExhausted), .url(.fileDoesNotExist):
            false
        case .url, .ferry: true
        }
    }
}
