import Glibc
import TestSupport

/// A key distribution centre on loopback, with `ann` logged in and a service key for HTTP on
/// `localhost`.
///
/// Sets variables of the environment, and so belongs into a process of its own.
final class KDC: Sendable {
    private let directory: TemporaryDirectory
    let process: ChildProcess

    init() async throws {
        directory = try TemporaryDirectory()
        // It cannot be asked for a port of its choice.
        let port = try Endpoint.freePort()
        let client = """
            [libdefaults]
            default_realm = FERRY.TEST
            dns_lookup_kdc = false
            dns_canonicalize_hostname = false
            [realms]
            FERRY.TEST = {
              kdc = 127.0.0.1:\(port)
            }
            """
        let server = """
            [kdcdefaults]
            kdc_listen = 127.0.0.1:\(port)
            kdc_tcp_listen = 127.0.0.1:\(port)
            [realms]
            FERRY.TEST = {
              database_name = \(directory.file("principal"))
              key_stash_file = \(directory.file("stash"))
            }
            """
        setenv("KRB5_CONFIG", try directory.write("krb5.conf", Array(client.utf8)), 1)
        setenv("KRB5_KDC_PROFILE", try directory.write("kdc.conf", Array(server.utf8)), 1)
        setenv("KRB5CCNAME", "FILE:" + directory.file("cache"), 1)
        let path = "/usr/sbin/"
        try await ChildProcess.run(
            path + "kdb5_util", ["create", "-s", "-P", "master", "-r", "FERRY.TEST"])
        for command in [
            "addprinc -randkey ann", "addprinc -randkey HTTP/localhost",
            "ktadd -k \(directory.file("keys")) ann",
        ] {
            try await ChildProcess.run(path + "kadmin.local", ["-q", command])
        }
        process = try ChildProcess(path + "krb5kdc", ["-n"])
        try await eventually("the centre to listen") {
            (try? await TestConnection(.tcp(host: "127.0.0.1", port: port))) != nil
        }
        try await ChildProcess.run("kinit", ["-k", "-t", directory.file("keys"), "ann"])
    }
}
