package import Diagnostics

extension Log {
    private static let damages = Log("store.damage")

    /// A row cannot be read, and is left out.
    package static func damage(of table: String, _ id: Int64, _ words: String) {
        damages.write(
            .error, "a damaged row is left out",
            ["table": .name(table), "row": .name("\(id)"), "error": .words(words)])
    }
}
