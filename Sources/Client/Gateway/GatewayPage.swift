internal import Glibc

/// The gateway's page for people, with its token.
public struct GatewayPage: Sendable {
    /// The page's address; what is behind `#` stays in the browser, and signs in.
    public let address: String

    /// The page of a gateway.
    ///
    /// - Throws: `badArgument` where no browser can reach it.
    public init(_ gateway: RemoteGateway) throws(ClientError) {
        guard case .web(let origin) = gateway.address else {
            throw .badArgument("a browser cannot reach \(gateway.address): give an http address")
        }
        address = origin + "/" + (gateway.token.map { "#token=" + PathText.escaped($0) } ?? "")
    }

    /// Opens it in the desktop's browser; false where there is no desktop, or it has none.
    ///
    /// Command lines can be read by other users of the machine. So the browser is given a file that
    /// only this user can read, and that leads to the page.
    public func open(environment: [String: String]) -> Bool {
        guard environment["DISPLAY"] != nil || environment["WAYLAND_DISPLAY"] != nil,
            let folder = DiscoveryFile.folders(environment).first,
            (try? LocalFile.makeFolder(folder)) != nil
        else { return false }
        let path = "\(folder)/open-\(getpid()).html"
        let text = """
            <!doctype html><meta charset="utf-8"><title>Ferry</title>
            <meta http-equiv="refresh" content="0; url=\(address)">

            """
        guard (try? LocalFile.replace(path, with: Array(text.utf8), mode: 0o600)) != nil else {
            return false
        }
        defer { unlink(path) }
        for program in ["/usr/bin/xdg-open", "/usr/local/bin/xdg-open"] {
            guard ChildCommand.run(program, [path], environment: environment) == 0 else { continue }
            // The browser reads the file after xdg-open has ended.
            sleep(3)
            return true
        }
        return false
    }
}
