/// Which of a user's defaults mean nothing, or would be refused, beside what is typed.
enum IdleDefaults {
    /// Those of `ferry get` and `ferry put`, of all the options `names`.
    static func of(_ given: [String: String], among names: Set<String>) -> Set<String> {
        var idle: Set<String> = []
        if given["task"] != nil { idle.formUnion(names.subtracting(ofCollection)) }
        if given["background"] != nil { idle.formUnion(ofOwnTransfer) }
        // A session of the user's answers by itself.
        if given["session"] != nil { idle.formUnion(ofAuthentication) }
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
    private static let ofCollection: Set = [
        "output", "directory", "force", "quiet", "json", "gateway", "token-file",
    ]

    private static let ofAuthentication: Set = [
        "user", "proxy", "proxy-user", "cert", "key", "insecure", "ask",
    ]

    /// What `ferry get --background` leaves to nobody.
    private static let ofOwnTransfer = ofAuthentication.union([
        "output", "remote-name", "directory", "on-complete", "force", "session",
    ])
}
