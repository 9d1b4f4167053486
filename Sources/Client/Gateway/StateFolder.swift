/// Where commands keep what outlives them.
enum StateFolder {
    /// `$XDG_STATE_HOME/ferry`, or `~/.local/state/ferry`; nil where neither is known.
    static func path(_ environment: [String: String]) -> String? {
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") {
            return state + "/ferry"
        }
        if let home = environment["HOME"], home.hasPrefix("/") {
            return home + "/.local/state/ferry"
        }
        return nil
    }
}
