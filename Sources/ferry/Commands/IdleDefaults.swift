/// Which of a user's defaults mean nothing, or would be refused, beside what is typed.
enum IdleDefaults {
    /// Those of `command`, of all its options `names`, beside the options that are given.
    static func of(
        _ command: String, _ given: [String: String], among names: Set<String>
    ) -> Set<String> {
        var idle: Set<String> = []
        if given["task"] != nil {
            // Of a task that is there nothing is said anew; elsewhere it is one of two places.
            idle.formUnion(command == "get" ? names.subtracting(ofCollection) : ["session"])
        }
        if given["background"] != nil { idle.formUnion(ofOwnTransfer) }
        if given["session"] != nil {
            // A session of the user's answers by itself.
            idle.formUnion(ofAuthentication)
            idle.insert("task")
        }
        if ofAuthentication.contains(where: { given[$0] != nil }) { idle.insert("session") }
        // A key is of its certificate, and a proxy's user of that proxy.
        if given["cert"] != nil { idle.insert("key") }
        if given["proxy"] != nil { idle.insert("proxy-user") }
        if given["output"] != nil { idle.insert("remote-name") }
        if given["output"] == "-" { idle.formUnion(["on-complete", "json"]) }
        if given["remote-name"] != nil { idle.insert("output") }
        if given["input-file"] != nil { idle.formUnion(["output", "checksum", "mirror"]) }
        return idle
    }

    /// What `ferry get --task` heeds.
    private static let ofCollection = Set(GatewayOptions.names).union([
        "output", "directory", "force", "quiet", "json",
    ])

    private static let ofAuthentication: Set = [
        "user", "proxy", "proxy-user", "cert", "key", "insecure", "ask",
    ]

    /// What `ferry get --background` leaves to nobody.
    private static let ofOwnTransfer = ofAuthentication.union([
        "output", "remote-name", "directory", "on-complete", "force", "session",
    ])
}
