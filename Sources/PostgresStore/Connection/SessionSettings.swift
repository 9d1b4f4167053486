internal import Engine

/// What the sessions of a gateway have set on the server, whatever the server's users are used to.
enum SessionSettings {
    /// Settings by name: those that the server does not have are left out.
    private static let values = [
        // A session whose gateway, or whose way to it, is gone ends after some seconds, and with it
        // the lock: by themselves servers wait for two hours.
        ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"),
        ("tcp_keepalives_count", "3"), ("tcp_user_timeout", "20000"),
        ("client_connection_check_interval", "5000"),
        // The gateway waits as long as it wants to: these would end what takes long, again and
        // again.
        ("statement_timeout", "0"), ("lock_timeout", "0"), ("transaction_timeout", "0"),
        ("idle_in_transaction_session_timeout", "0"), ("idle_session_timeout", "0"),
        // Each statement is to see what others have done until then.
        ("default_transaction_isolation", "read committed"),
        // What is acknowledged must be on the server's disk.
        ("synchronous_commit", "on"),
    ]

    /// Sets them, for as long as the session lives.
    static func apply(to connection: Connection) throws(StoreError) {
        let pairs = values.map { "('\($0.0)', '\($0.1)')" }.joined(separator: ", ")
        _ = try connection.rows(
            """
            SELECT set_config(wanted.name, wanted.value, false)
            FROM (VALUES \(pairs)) AS wanted (name, value) JOIN pg_settings USING (name)
            WHERE (name <> 'synchronous_commit' OR setting = 'off')
                AND (name <> 'client_connection_check_interval' OR version() LIKE '%linux%')
            """)
        // With the transaction that they were made in settings would be taken back, too.
        try connection.settle()
    }
}
