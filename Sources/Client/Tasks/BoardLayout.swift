/// The lines of `ferry watch` on a terminal: tasks, a line for all of them, and what keys do.
struct BoardLayout {
    /// A task as a row shows it.
    struct Row: Equatable {
        var id: String
        var url: String
        /// The name of the file, where the server has suggested one.
        var fileName: String?
        var bar: ProgressBar.State
        /// Whether it moves, or may at any time.
        var isRunning = true

        /// The file's name, else the last part of the URL's path, else the host.
        var name: String {
            if let fileName, !fileName.isEmpty { return fileName }
            let path = url.prefix { $0 != "?" && $0 != "#" }
            let parts = path.split(separator: "/")
            return parts.count > 2 ? String(parts[parts.count - 1]) : host
        }

        /// The host, with a port where there is one.
        var host: String {
            let parts = url.split(separator: "/")
            return parts.count > 1 ? String(parts[1]) : url
        }

        /// Whether a filter lets it through, whatever the case.
        func matches(_ filter: String) -> Bool {
            let filter = filter.lowercased()
            return filter.isEmpty
                || [id, url, fileName ?? ""].contains { $0.lowercased().contains(filter) }
        }
    }

    /// What stands below the rows.
    struct Footer: Equatable {
        var ended = 0
        var failed = 0
        var rate: Double?
        /// Something to tell, or to ask, in place of the keys.
        var message: String?
        /// Whether keys do anything.
        var hasKeys = false
    }

    let width: Int
    let height: Int
    let style: ProgressBar.Style

    /// What keys do, as far as there is room for it; how to leave stays longest.
    private var keys: String {
        let arrows = (style.usesUnicode ? "↑↓" : "arrows") + " select  "
        let texts = [
            arrows + "p pause  r resume  c cancel  / filter  q quit",
            "p pause  r resume  c cancel  / filter  q quit", "p pause  r resume  c cancel  q quit",
            "p r c /  q quit",
        ]
        return texts.first { DisplayText.columns(of: $0) <= width } ?? "q quit"
    }

    /// At most `height - 1` lines, none wider than `width`; the selected row is always among them.
    func lines(_ rows: [Row], selected: String?, footer: Footer) -> [String] {
        var below = [summary(rows, footer)]
        if let message = footer.message {
            below.append(message)
        } else if footer.hasKeys {
            below.append(keys)
        }
        let room = max(0, height - 1 - below.count)
        let index = rows.firstIndex { $0.id == selected } ?? 0
        let shown = rows.count <= room ? rows.count : max(0, room - 1)
        let first = max(0, min(index - shown / 2, rows.count - shown))
        var lines = rows[first..<first + shown].map { row in
            line(row, isSelected: footer.hasKeys && row.id == selected)
        }
        if shown < rows.count {
            lines.append(DisplayText.cut("  and \(rows.count - shown) more", to: width))
        }
        // The rows keep to the width by themselves, and have colours, which take no room.
        lines += below.map { DisplayText.cut($0, to: width) }
        return lines.suffix(max(1, height - 1))
    }

    /// The line of a task that has ended: `tsk_1  completed 200  6 B  http://h/a`; where it is
    /// narrow without the id, and the URL is shortened in its middle.
    static func ending(
        _ id: String, outcome: String, bytes: Int64, url: String, width: Int
    ) -> String {
        let parts = [width < 60 ? "" : id, outcome, Figures.size(bytes)].filter { !$0.isEmpty }
        let head = DisplayText.line(parts.joined(separator: "  ")) + "  "
        let room = max(0, width - DisplayText.columns(of: head))
        return DisplayText.cut(
            head + DisplayText.shortened(DisplayText.line(url), to: room), to: width)
    }

    private func summary(_ rows: [Row], _ footer: Footer) -> String {
        let running = rows.count(where: \.isRunning)
        var parts = [rows.isEmpty ? "no tasks" : "\(running) running"]
        if rows.count > running { parts.append("\(rows.count - running) suspended") }
        if footer.ended > 0 { parts.append("\(footer.ended) done") }
        if footer.failed > 0 { parts.append("\(footer.failed) failed") }
        if running > 0, let rate = footer.rate, rate >= 1 { parts.append(Figures.rate(rate)) }
        return parts.joined(separator: ", ")
    }

    private func line(_ row: Row, isSelected: Bool) -> String {
        let mark = isSelected ? (style.usesUnicode ? "▸ " : "> ") : "  "
        let label = label(row)
        var bar = row.bar
        bar.name = label
        let text = ProgressBar.render(
            bar, width: max(0, width - 2), style: style,
            nameColumns: DisplayText.columns(of: label))
        return mark + text
    }

    /// The id, the name and the host, as far as there is room; of a fixed width.
    private func label(_ row: Row) -> String {
        func field(_ text: String, _ columns: Int) -> String {
            DisplayText.padded(
                DisplayText.shortened(DisplayText.line(text), to: columns), to: columns)
        }
        switch width {
        case 118...:
            return [field(row.id, 16), field(row.name, 26), field(row.host, 20)]
                .joined(separator: "  ")
        case 76...:
            // What the figures leave; commands take ids without what all begin with.
            let id = row.id.hasPrefix("tsk_") ? String(row.id.dropFirst(4)) : row.id
            return [field(id, 12), field(row.name, width - 60)].joined(separator: "  ")
        case 56...: return field(row.name, width - 46)
        default: return field(row.name, max(8, width - 28))
        }
    }
}
