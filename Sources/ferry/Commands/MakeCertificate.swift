import ArgumentParser
import Client
import JSON
import TLS

/// `ferry certificate`: makes what `ferry serve` speaks TLS with.
struct MakeCertificate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "certificate",
        abstract: "Make a certificate for a gateway, and a private authority that signs it.",
        discussion: """
            For networks of your own, where no public authority vouches for names. The directory gets \
            the authority (authority.pem, authority.key) and the gateway's pair (gateway.pem, \
            gateway.key); keys are for their owner only. Clients that trust authority.pem trust the \
            gateway, also after the certificate was renewed: keep authority.key secret, best on another \
            machine.

            The same command renews the certificate, with a new key; a gateway that runs takes it by \
            itself. Without HOST it is for the same hosts as before. Certificates of another authority \
            are never replaced.

            With --client it makes a certificate for a client in place of the gateway's, for a gateway \
            with `--tls-client-ca authority.pem`.

            Exit status: 0 done; 64 wrong arguments; 66 a file cannot be read; 73 a file cannot be \
            written; 74 standard output cannot be written, the files are there; 78 the directory holds \
            something else.
            """)

    @Argument(help: "The names and addresses that clients call the gateway by.")
    var hosts: [String] = []

    @Option(help: "Where the files are (default: ./ferry-tls).", completion: .directory)
    var directory = "./ferry-tls"

    @Option(
        help: ArgumentHelp(
            "Make a certificate for this client in place of the gateway's.", valueName: "name"))
    var client: String?

    @Option(help: "For how many days, at most 397.")
    var days = CertificateAuthority.leafDays

    func run() throws {
        do {
            let folder = CertificateFolder(path: directory)
            for line in try make(in: folder) { try Serve.tellResult(line) }
        } catch let refusal as Refusal {
            throw ExitCode(Serve.say(refusal.description, code: refusal.code))
        } catch let error as TLSFileError {
            let refusal = Refusal(error)
            throw ExitCode(Serve.say(refusal.description, code: refusal.code))
        }
    }

    private func make(in folder: CertificateFolder) throws -> [String] {
        guard (1...CertificateAuthority.leafDays).contains(days) else {
            throw Refusal(
                description: """
                    --days must be a whole number from 1 to \(CertificateAuthority.leafDays): browsers \
                    accept no certificate that lasts longer.
                    """, code: 64)
        }
        let hosts = try hosts.map { text throws(Refusal) in
            guard let host = HostName(text) else {
                throw Refusal(
                    description: """
                        \(text) is no host: give a name as gateway.lan, or an address as 192.168.1.7, \
                        without a scheme and a port; international names in their ASCII form (xn--…).
                        """, code: 64)
            }
            return host
        }
        guard let client else { return try makeGateway(hosts, in: folder) }
        guard hosts.isEmpty, CertificateFolder.isClientName(client) else {
            throw Refusal(
                description: """
                    --client takes a name of letters, digits, ".", "_", "-" and "@", and no HOST beside \
                    it.
                    """, code: 64)
        }
        return try makeClient(client, in: folder)
    }

    private func makeGateway(
        _ given: [HostName], in folder: CertificateFolder
    ) throws -> [String] {
        let former = try folder.formerHosts(of: "gateway")
        let hosts = given.isEmpty ? former ?? [] : given
        guard let first = hosts.first else {
            throw Refusal(
                description: """
                    For which hosts? Give the names and addresses that clients call the gateway by: \
                    ferry certificate gateway.lan 192.168.1.7
                    """, code: 64)
        }
        let authority = try folder.authority(named: "Ferry authority of \(first.text)")
        let pair = try authority.issue(.server(hosts), days: days)
        try folder.write(pair, as: "gateway")
        let file = { ShellWord.quoted(folder.file($0)) }
        let place = first.isAddress && first.text.contains(":") ? "[\(first.text)]" : first.text
        let names = hosts.map(\.text).joined(separator: ", ")
        let dropped = (former ?? []).map(\.text).filter { host in
            !hosts.contains { $0.text == host }
        }
        var notes: [String] = []
        if !dropped.isEmpty {
            let all = (hosts.map(\.text) + dropped).joined(separator: " ")
            notes = [
                "It is for \(dropped.joined(separator: ", ")) no more. To have them all: ferry certificate \(all)"
            ]
        }
        return [
            "\(former == nil ? "Made" : "Renewed"): a certificate for \(names), until \(day(pair))."
        ] + notes + [
            "",
            "The gateway serves with it, and takes a renewed one by itself:",
            "  ferry serve --host 0.0.0.0 --tls-certificate \(file("gateway.pem")) --tls-key \(file("gateway.key"))",
            "Clients trust \(folder.file("authority.pem")), as browsers do once it is imported there:",
            "  ferry status --gateway https://\(place):8080 --gateway-ca \(file("authority.pem"))",
            "Keep \(folder.file("authority.key")) secret: who has it can pass for your gateway.",
        ]
    }

    private func makeClient(_ name: String, in folder: CertificateFolder) throws -> [String] {
        let isNew = try folder.formerHosts(of: name) == nil
        let authority = try folder.authority(named: "Ferry authority")
        let pair = try authority.issue(.client(name), days: days)
        try folder.write(pair, as: name)
        let file = { ShellWord.quoted(folder.file($0)) }
        return [
            "\(isNew ? "Made" : "Renewed"): a certificate for the client \(name), until \(day(pair)).",
            "",
            "A gateway lets it, and others of this authority, connect:",
            "  ferry serve … --tls-client-ca \(file("authority.pem"))",
            "The client shows it:",
            "  ferry status … --gateway-certificate \(file("\(name).pem")) --gateway-key \(file("\(name).key"))",
        ]
    }

    private func day(_ pair: CertificateAuthority.Pair) -> String {
        String(RFC3339.text(milliseconds: pair.notAfter * 1000).prefix(10))
    }
}
