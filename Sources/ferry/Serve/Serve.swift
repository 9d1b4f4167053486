import ArgumentParser
import Diagnostics
import Glibc
import Loop

/// `ferry serve`: runs the gateway until SIGTERM or SIGINT.
struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the gateway.",
        discussion: """
            Every option can also be given as FERRY_… in the environment (--data-directory as \
            FERRY_DATA_DIRECTORY), or as a member of a JSON object in the file that --configuration \
            names ("dataDirectory"). The command line outranks the environment, and that the file. \
            Options that repeat take commas in the environment and arrays in the file.

            Exit status: 0 ended by SIGTERM or SIGINT; 64 wrong arguments; 65 the database or contents \
            are missing or damaged, or are of another gateway; 66 a file cannot be read; 69 no \
            connection to the server of --store, or the place of --contents cannot be used; 73 a file \
            or the data directory cannot be made or written; 74 the disk or the server failed, the \
            address cannot be listened on, or another gateway has taken the database over; 75 another \
            gateway uses the data directory; 78 what the configuration says, a key or a certificate \
            cannot be used.
            """)

    @Option(help: "The address to listen on (default: 127.0.0.1).")
    var host: String?

    @Option(help: "The port to listen on; 0 takes any that is free (default: 8080).")
    var port: Int?

    @Option(help: "Listen on this unix socket too.")
    var unixSocket: String?

    @Option(help: "Where sessions, results and the token are kept (default: ./ferry-data).")
    var dataDirectory: String?

    @Option(
        help: ArgumentHelp(
            "A PostgreSQL database that sessions and tasks are kept in (default: a file in the data directory).",
            discussion: """
                As postgres://user:password@host:port/database, with the parameters that libpq knows. \
                Others see the command line: give the password in FERRY_STORE, or in the file that \
                PGPASSFILE names. It needs FERRY_KEY or --key-file.
                """, valueName: "url"))
    var store: String?

    @Flag(
        help: ArgumentHelp(
            "Wait until no other gateway has the database of --store, and then serve in its place.",
            discussion: """
                Until then it answers GET /healthz, and 503 to all else. It takes over at once when \
                the other one ends, and 6 to 15 seconds after its last sign of life.
                """))
    var standBy = false

    @Option(
        help: ArgumentHelp(
            "Be one of several gateways that serve from the database of --store, and where the others reach this one.",
            discussion: """
                As https://HOST:PORT or http://HOST:PORT, an address that only this gateway has. All \
                of them have the same --store, --contents, FERRY_KEY and FERRY_TOKEN; each tenant is \
                at one of them at a time, and any of them answers.
                """, valueName: "url"))
    var nodeAddress: String?

    @Option(
        help: ArgumentHelp(
            "Where results and staged files are kept, a shared folder or S3 (default: the data directory).",
            discussion: """
                As /absolute/path, or as s3://bucket/prefix, with ?endpoint=URL&region=NAME&style=path \
                where that is not Amazon's. Credentials are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and \
                AWS_SESSION_TOKEN, else those of the shared credentials file. What is being fetched is in \
                the data directory until it is whole.
                """, valueName: "place"))
    var contents: String?

    @Option(
        help: ArgumentHelp(
            "A file with the key that seals secrets on the disk (default: the data directory's own).",
            discussion: """
                32 bytes, for the gateway's user only: (umask 077 && head -c 32 /dev/urandom > FILE). \
                FERRY_KEY, in place of a file, is the key itself as 64 hexadecimal digits; it is \
                taken out of the environment. A file is for one data directory. `ferry key rotate` \
                changes the key.
                """, valueName: "file"), completion: .file())
    var keyFile: String?

    @Option(
        name: .customLong("allow-destination"),
        help: "Addresses that may be fetched from beside the public ones: CIDR[:port]; repeatable.")
    var allowDestinations: [String] = []

    @Option(
        name: .customLong("allow-host"),
        help: ArgumentHelp(
            "A further name that clients may call the gateway by; repeatable.",
            discussion: "*.example.com stands for all names below example.com."))
    var allowHosts: [String] = []

    @Option(
        name: .customLong("allow-origin"),
        help: ArgumentHelp(
            "An origin whose pages may use this gateway with a token; repeatable.",
            discussion: """
                As https://app.example.com: scheme and host, and the port if it is not the usual \
                one. No cookie of this gateway is any use to such a page.
                """))
    var allowOrigins: [String] = []

    @Option(
        name: .customLong("folder"),
        help: ArgumentHelp(
            "A folder of this machine that downloads can be saved in: NAME=PATH; repeatable.",
            discussion: """
                Every token that may create tasks may save in it, and in the folders below it; \
                symbolic links there are not followed.
                """, valueName: "name=path"))
    var folders: [String] = []

    @Option(
        name: .customLong("negotiate-host"),
        help:
            "A host that is shown the tickets of this process's Kerberos cache; repeatable.")
    var negotiateHosts: [String] = []

    @Option(
        name: .customLong("quiet-hours"),
        help:
            "Hours for work that may be put off, by this machine's zone: HH:MM-HH:MM; repeatable (default: all day)."
    )
    var quietHours: [String] = []

    @Option(
        help: "How many transfers that may be put off run at a time (default: 64).")
    var discretionaryAttempts: Int?

    @Option(
        help:
            "How many days results of background sessions are kept (default: 30).")
    var backgroundRetention: Int?

    @Option(
        help: "A file of PEM certificates to trust in place of the system's.")
    var trustedCertificates: String?

    @Option(
        help: ArgumentHelp(
            "The certificate to speak TLS with, in PEM, with those that lead to its authority.",
            discussion: """
                It is read again when it changes, and on SIGHUP. `ferry certificate` makes one for a \
                first try.
                """, valueName: "file"), completion: .file())
    var tlsCertificate: String?

    @Option(
        help: ArgumentHelp(
            "The private key of --tls-certificate, in PEM, without a passphrase.",
            valueName: "file"), completion: .file())
    var tlsKey: String?

    @Option(
        name: .customLong("tls-client-ca"),
        help: ArgumentHelp(
            "Authorities in PEM: only clients with a certificate that one of them has signed can connect.",
            valueName: "file"), completion: .file())
    var tlsClientCA: String?

    @Flag(
        help:
            "Clients come through a proxy that speaks TLS: listening beyond loopback is then safe.")
    var behindTLSProxy = false

    @Option(
        help:
            "The least level that is logged: debug, info, notice, warning, error (default: notice)."
    )
    var logLevel: String?

    @Option(
        help:
            "How log lines look: text or json (default: text on a terminal, json elsewhere).")
    var logFormat: String?

    @Option(
        help: ArgumentHelp(
            "A file with a token that may read /metrics and nothing else; made if it is missing.",
            valueName: "file"), completion: .file())
    var metricsTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "A file that gets a line of JSON for each call of an admin, wrong token and denied destination.",
            discussion: "Made for the gateway's user only; opened anew at SIGHUP.",
            valueName: "file"), completion: .file())
    var auditLog: String?

    @Option(help: "A file with these options, in JSON.")
    var configuration: String?

    @Option(
        help: ArgumentHelp(
            "End when nobody holds a lock (flock) on this file; commands do not find this gateway.",
            visibility: .hidden))
    var whileLocked: String?

    func run() throws {
        let (environment, keys) = ProcessEnvironment.taking([
            KeySource.variable, KeyRotation.variable, "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
        ])
        let settings: ServeSettings
        do {
            settings = try ServeSettings(
                self, environment: environment, secrets: keys)
        } catch {
            throw ExitCode(Serve.say(error.description, code: error.code))
        }
        Log.setThreshold(settings.logLevel)
        Log.format = settings.logFormat
        let code = try LoopActor.runLoop {
            await GatewayProcess.run(settings, environment: environment)
        }
        if code != 0 { throw ExitCode(code) }
    }

    /// Says why on standard error.
    /// - Returns: the exit code, one of <sysexits.h>.
    static func say(_ reason: String, code: Int32) -> Int32 {
        _ = StandardStreams.write("ferry: \(reason)\n", to: STDERR_FILENO)
        return code
    }

    /// Writes a line to standard output, at once; a gateway serves also where nobody can read that.
    static func tell(_ line: String) {
        _ = StandardStreams.write(line + "\n", to: STDOUT_FILENO)
    }

    /// Writes a line that a command was run for to standard output, at once.
    static func tellResult(_ line: String) throws(Refusal) {
        let failure = StandardStreams.write(line + "\n", to: STDOUT_FILENO)
        guard failure == 0 else {
            throw Refusal(
                description: "standard output: \(String(cString: strerror(failure)))", code: 74)
        }
    }
}
