/// Sessions as a table for people.
public enum SessionTable {
    private static let titles = ["SESSION", "TYPE", "STATE", "TASKS", "CREATED", "DESCRIPTION"]

    /// The lines of the table, titles first.
    ///
    /// TASKS is how many have not completed. With a `width`, lines are cut to it. Text from
    /// elsewhere is made fit for a terminal.
    public static func lines(_ sessions: [RemoteSession], width: Int? = nil) -> [String] {
        let rows = sessions.map { session in
            [
                DisplayText.line(session.id), DisplayText.line(session.type),
                DisplayText.line(session.state), String(session.outstanding),
                Figures.instant(session.createdAt), DisplayText.line(session.description),
            ]
        }
        return TextTable.lines(titles, rows, figures: [3], width: width)
    }

    /// One session in one line: `ses_1  default  active  2 tasks`.
    public static func summary(_ session: RemoteSession) -> String {
        let count = session.outstanding
        return DisplayText.line(
            [session.id, session.type, session.state, "\(count) \(count == 1 ? "task" : "tasks")"]
                .joined(separator: "  "))
    }
}
