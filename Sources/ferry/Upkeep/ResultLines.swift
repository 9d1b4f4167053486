/// Lines on standard output of a command that does not stop its work where one cannot be written.
struct ResultLines {
    private var failure: Refusal?

    /// Writes a line, at once.
    mutating func print(_ line: String) {
        do throws(Refusal) {
            try Serve.tellResult(line)
        } catch {
            failure = failure ?? error
        }
    }

    /// Throws why one of the lines could not be written.
    func requireWritten() throws(Refusal) {
        if let failure { throw failure }
    }
}
