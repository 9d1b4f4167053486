/// Rows whose columns stand below each other.
enum TextTable {
    /// The titles and the rows as lines; each row has as many cells as there are titles.
    ///
    /// The columns of `figures` end below each other. With a `width`, lines are cut to it, so that
    /// what is longest belongs into the last column; that may be shortened in its middle instead.
    /// Cells must be fit for a terminal.
    static func lines(
        _ titles: [String], _ rows: [[String]], figures: Set<Int> = [], width: Int?,
        shortensLast: Bool = false
    ) -> [String] {
        let rows = [titles] + rows
        let widths = titles.indices.map { column in
            rows.map { DisplayText.columns(of: $0[column]) }.max() ?? 0
        }
        return rows.map { cells in
            let padded = cells.enumerated().map { column, cell in
                column == titles.count - 1
                    ? cell
                    : DisplayText.padded(
                        cell, to: widths[column], before: figures.contains(column))
            }
            let line = padded.joined(separator: "  ")
            guard let width, DisplayText.columns(of: line) > width else { return line }
            guard shortensLast, let last = cells.last else {
                return DisplayText.cut(line, to: width)
            }
            let head = padded.dropLast().map { $0 + "  " }.joined()
            let room = max(0, width - DisplayText.columns(of: head))
            return DisplayText.cut(head + DisplayText.shortened(last, to: room), to: width)
        }
    }
}
