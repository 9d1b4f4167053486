/// Tasks as a table for people.
public enum TaskTable {
    private static let titles = ["TASK", "STATE", "DONE", "BYTES", "URL"]

    /// The lines of the table, titles first.
    ///
    /// BYTES is what is received, of an upload what is sent. With a `width`, URLs are shortened in
    /// their middle; where it is narrow they have lines of their own. Text from elsewhere is made
    /// fit for a terminal.
    public static func lines(_ tasks: [RemoteTask], width: Int? = nil) -> [String] {
        guard let width, width < 72 else {
            return TextTable.lines(
                titles, tasks.map(cells), figures: [2, 3], width: width, shortensLast: true)
        }
        let heads = TextTable.lines(
            Array(titles.prefix(2)), tasks.map { Array(cells($0).prefix(2)) }, width: width)
        let tails =
            ["DONE  URL"]
            + tasks.map { task in
                let head = DisplayText.padded(cells(task)[2], to: 4, before: true) + "  "
                return head
                    + DisplayText.shortened(DisplayText.line(task.url), to: max(0, width - 8))
            }
        return zip(heads, tails).flatMap { head, tail in
            [head, DisplayText.cut("  " + tail, to: width)]
        }
    }

    /// One task in one line: `tsk_1  running  42%  294 MiB/700 MiB  https://host/big.iso`.
    public static func summary(_ task: RemoteTask) -> String {
        cells(task).filter { !$0.isEmpty }.joined(separator: "  ")
    }

    private static func cells(_ task: RemoteTask) -> [String] {
        let (bytes, total) = task.moved
        let bar = ProgressBar.State(name: "", received: bytes, total: total)
        let moved = Figures.size(bytes)
        return [
            DisplayText.line(task.id),
            DisplayText.line(state(of: task)),
            bar.percent.map { "\($0)%" } ?? "-",
            total >= 0 ? "\(moved)/\(Figures.size(total))" : moved,
            DisplayText.line(task.url),
        ]
    }

    private static func state(of task: RemoteTask) -> String {
        if let waitingFor = task.waitingFor { return "\(task.state)/\(waitingFor)" }
        guard task.isCompleted else { return task.state }
        if let failure = task.failure { return failure.name }
        return task.responseStatus.map { "completed \($0)" } ?? "completed"
    }
}
