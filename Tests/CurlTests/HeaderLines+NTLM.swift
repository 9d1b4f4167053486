import TestSupport

extension HeaderLines {
    static func ntlm(_ name: String, _ token: String?) -> HeaderLines {
        var lines = HeaderLines()
        lines.append(name, token.map { "NTLM " + $0 } ?? "NTLM")
        return lines
    }
}
