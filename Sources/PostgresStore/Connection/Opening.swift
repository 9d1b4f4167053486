internal import CPostgres
internal import Engine
internal import Glibc

/// Opens a connection to the first host of an address that takes one.
struct Opening {
    let address: DatabaseAddress
    let patience: Patience

    /// Returns libpq's handle, of a server that takes changes: no replica.
    /// - Throws: `away`, with what is wrong with each host, also where the password is wrong.
    func open() throws(StoreError) -> OpaquePointer {
        // One after the other: a host that says nothing must leave time for the others.
        let limit = patience.opening / address.hosts.count
        var words: [String] = []
        for host in address.hosts {
            do throws(StoreError) {
                return try open(host, until: ContinuousClock.now + limit)
            } catch {
                guard case .away(let told) = error else { throw error }
                words.append(told)
            }
        }
        throw .away(words.joined(separator: "; "))
    }

    private func open(
        _ host: DatabaseAddress.Host, until deadline: ContinuousClock.Instant
    ) throws(StoreError) -> OpaquePointer {
        // Those before the address are replaced by what stands in it, those behind it replace that.
        let options =
            [
                ("application_name", "ferry"), ("tcp_user_timeout", "20000"),
                ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "2"),
                ("dbname", address.url), ("client_encoding", "UTF8"),
                ("target_session_attrs", "read-write"),
            ] + host.options
        let started = Self.withStrings(options.map(\.0)) { keywords in
            Self.withStrings(options.map(\.1)) { PQconnectStartParams(keywords, $0, 1) }
        }
        guard let handle = started else { throw .failed("There is no memory for a connection.") }
        do throws(StoreError) {
            try finish(handle, until: deadline)
            return handle
        } catch {
            PQfinish(handle)
            throw error
        }
    }

    private func finish(
        _ handle: OpaquePointer, until deadline: ContinuousClock.Instant
    ) throws(StoreError) {
        guard PQstatus(handle) != CONNECTION_BAD else { throw .away(Connection.words(of: handle)) }
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            let events = state == PGRES_POLLING_WRITING ? POLLOUT : POLLIN
            guard try patience.wait(for: events, on: PQsocket(handle), until: deadline) else {
                let host = PQhost(handle).map { String(cString: $0) } ?? ""
                throw .away("\(host.isEmpty ? "It" : host) does not answer.")
            }
            state = PQconnectPoll(handle)
            guard state != PGRES_POLLING_FAILED else {
                throw .away(Connection.words(of: handle))
            }
        }
    }

    private static func withStrings<Value>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
    ) -> Value {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies.map { UnsafePointer($0) } + [nil])
    }
}
