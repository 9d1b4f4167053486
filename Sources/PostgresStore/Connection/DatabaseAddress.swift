internal import CPostgres
internal import Engine

/// Where a database is, and how one gets in: a URL as libpq takes it.
/// <https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING>
struct DatabaseAddress: Sendable {
    /// The URL, which may have a password in it.
    let url: String
    /// The place without the password, for people.
    let place: String
    /// Its hosts, in the order in which they are tried.
    let hosts: [Host]

    /// One of the hosts of an address.
    struct Host: Sendable {
        /// What takes the place of the options that name all of them.
        fileprivate(set) var options: [(String, String)] = []
    }

    /// - Throws: `failed` where libpq does not take it. It is not repeated: a password may be in
    ///   it.
    init(_ url: String) throws(StoreError) {
        let isURL = ["postgres://", "postgresql://"].contains(where: url.hasPrefix)
        guard isURL, let options = PQconninfoParse(url, nil) else {
            throw .failed(
                """
                The address is none of a PostgreSQL database: it should be like \
                postgres://user:password@host:port/database, and what is special in user and \
                password percent-encoded.
                """)
        }
        defer { PQconninfoFree(options) }
        var parts: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                parts[String(cString: keyword)] = String(cString: value)
            }
            option += 1
        }
        self.url = url
        let host = parts["host"] ?? parts["hostaddr"] ?? "this machine"
        let port = parts["port"].map { ":\($0)" } ?? ""
        place = "\(host)\(port)/\(parts["dbname"] ?? "")"
        hosts = DatabaseAddress.hosts(of: parts)
    }

    /// Takes lists apart, where they fit together; libpq says what is wrong with others.
    private static func hosts(of parts: [String: String]) -> [Host] {
        let lists = ["host", "hostaddr", "port"].compactMap { keyword in
            parts[keyword].map { value in
                (keyword, value.split(separator: ",", omittingEmptySubsequences: false))
            }
        }
        let count = lists.filter { $0.0 != "port" }.map(\.1.count).max() ?? 1
        let isOdd = lists.contains { keyword, values in
            values.count != count && (keyword != "port" || values.count != 1)
        }
        guard count > 1, !isOdd else { return [Host()] }
        return (0..<count).map { index in
            Host(
                options: lists.map { keyword, values in
                    (keyword, String(values.count == 1 ? values[0] : values[index]))
                })
        }
    }
}
