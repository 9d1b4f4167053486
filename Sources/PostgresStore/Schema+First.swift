extension Schema {
    /// The tables of the first version.
    static let first = gateway + sessions + tasks + streams + memories + access

    private static let gateway = [
        """
        -- One row. key_check is sealed: it opens with the right key only. last_forgotten: the
        -- greatest identifier that no row has, or has any more. The marks: what three clocks showed
        -- at one instant, in milliseconds; NULL before the first start.
        CREATE TABLE gateway (
            id smallint PRIMARY KEY CHECK (id = 1),
            key_check bytea NOT NULL,
            last_forgotten bigint NOT NULL DEFAULT 0,
            maximum_bytes_per_second bigint,
            background_updates boolean NOT NULL DEFAULT true,
            kept_mark bigint,
            wall_mark bigint,
            boot_mark bytea,
            elapsed_mark bigint
        )
        """,
        """
        -- One row: which gateway has the tables, and what names its newest transaction.
        CREATE TABLE holder (
            id smallint PRIMARY KEY CHECK (id = 1),
            holder bytea,
            committed bytea
        )
        """,
        "INSERT INTO holder (id) VALUES (1)",
        """
        -- forgotten_sequence: the newest tenant sequence whose event is not kept any more.
        CREATE TABLE tenant (
            id bigint PRIMARY KEY,
            last_sequence bigint NOT NULL DEFAULT 0,
            forgotten_sequence bigint NOT NULL DEFAULT 0
        )
        """,
        """
        -- Staged files, few and long-lived. Their bytes are elsewhere.
        CREATE TABLE file (
            id bigint PRIMARY KEY,
            tenant bigint NOT NULL,
            length bigint NOT NULL,
            is_complete boolean NOT NULL,
            announced_length bigint,
            expected_digest bytea,
            media_type bytea,
            created_at bigint NOT NULL,
            used_at bigint NOT NULL
        )
        """,
        "CREATE INDEX file_by_tenant ON file (tenant)",
        """
        -- What a request with an Idempotency-Key has created. The fingerprint is sealed: it is a
        -- digest of a body, and a short body can be guessed. created: numbers, packed.
        CREATE TABLE creation (
            tenant bigint NOT NULL,
            key bytea NOT NULL,
            at bigint NOT NULL,
            fingerprint bytea NOT NULL,
            created bytea NOT NULL,
            PRIMARY KEY (tenant, key)
        )
        """,
        "CREATE INDEX creation_by_age ON creation (at)",
    ]

    private static let sessions = [
        """
        -- constants, known_leaves, metadata: records. secret: sealed. cache: the number of the
        -- session's cache; another one makes it empty at once.
        CREATE TABLE session (
            id bigint PRIMARY KEY,
            tenant bigint NOT NULL,
            type text NOT NULL,
            state text NOT NULL,
            description bytea,
            created_at bigint NOT NULL,
            invalidated_at bigint,
            last_sequence bigint NOT NULL,
            last_task_number bigint NOT NULL,
            maximum_bytes_per_second bigint,
            owes_finish boolean NOT NULL,
            cache bigint NOT NULL DEFAULT 0,
            constants bytea NOT NULL,
            secret bytea,
            known_leaves bytea,
            metadata bytea
        )
        """,
        "CREATE INDEX session_by_tenant ON session (tenant)",
        """
        -- How many tasks of a session are in a state.
        CREATE TABLE task_count (
            session bigint NOT NULL,
            state bigint NOT NULL,
            count bigint NOT NULL,
            PRIMARY KEY (session, state)
        )
        """,
    ]

    private static let tasks = [
        """
        -- state: 2 suspended, 3 running, 4 canceling, 5 completed, 6 forgotten, but for what stored
        -- events are told from. first_event: none of the task's events has a lower sequence.
        -- last_event: that of its last event, once it has completed. status: NULL of a task that is
        -- as it was created. The secrets are sealed. stored_length: of its result, or
        -- of a download that rests; has_file: of its result.
        CREATE TABLE task (
            id bigint PRIMARY KEY,
            tenant bigint NOT NULL,
            session bigint NOT NULL,
            number bigint NOT NULL,
            type bigint NOT NULL,
            state bigint NOT NULL,
            has_live_attempt boolean NOT NULL,
            is_background boolean NOT NULL,
            has_error boolean NOT NULL,
            has_file boolean NOT NULL,
            created_at bigint NOT NULL,
            started_at bigint,
            completed_at bigint,
            kept_since bigint,
            stored_length bigint NOT NULL,
            first_event bigint NOT NULL,
            last_event bigint,
            request bytea NOT NULL,
            request_secret bytea,
            status bytea,
            status_secret bytea
        )
        """,
        "CREATE INDEX task_by_session ON task (session, state, type, id)",
        "CREATE INDEX task_by_tenant ON task (tenant, state, type, id)",
        "CREATE INDEX task_outstanding ON task (state, type) WHERE state < 5",
        "CREATE INDEX task_held ON task (id) WHERE state = 2 AND has_live_attempt",
        """
        CREATE INDEX task_kept ON task (is_background, coalesce(kept_since, completed_at))
            WHERE completed_at IS NOT NULL
        """,
        "CREATE INDEX task_failed ON task (id) WHERE has_error",
        "CREATE INDEX task_with_file ON task (id) WHERE has_file",
        """
        CREATE INDEX task_stored ON task (tenant) INCLUDE (stored_length) WHERE stored_length > 0
        """,
        """
        -- By which tasks are found: what clients keep with them.
        CREATE TABLE task_metadata (
            tenant bigint NOT NULL,
            key bytea NOT NULL,
            value bytea NOT NULL,
            task bigint NOT NULL,
            PRIMARY KEY (tenant, key, value, task)
        )
        """,
        "CREATE INDEX task_metadata_by_task ON task_metadata (task)",
        """
        -- Sealed: the bodies that are kept here.
        CREATE TABLE content (
            task bigint PRIMARY KEY,
            bytes bytea NOT NULL
        )
        """,
        "ALTER TABLE content ALTER COLUMN bytes SET STORAGE EXTERNAL",
        """
        -- What a session's delegate is asked, until the task is forgotten. secret: sealed, what is
        -- sensitive of the question. state: 2 pending, 3 answered, 4 expired, 5 withdrawn.
        CREATE TABLE decision (
            id bigint PRIMARY KEY,
            tenant bigint NOT NULL,
            session bigint NOT NULL,
            task bigint NOT NULL,
            kind text NOT NULL,
            state bigint NOT NULL,
            created_at bigint NOT NULL,
            deadline bigint NOT NULL,
            question bytea NOT NULL,
            secret bytea
        )
        """,
        "CREATE INDEX decision_by_task ON decision (task)",
        "CREATE INDEX decision_by_tenant ON decision (tenant, state, id)",
        "CREATE INDEX decision_pending ON decision (id) WHERE state = 2",
    ]

    private static let streams = [
        """
        -- All events of one session in one commit. tenant_through: the newest tenant sequence of
        -- that commit. newest_at: when it was.
        CREATE TABLE event_pack (
            session bigint NOT NULL,
            last_sequence bigint NOT NULL,
            first_sequence bigint NOT NULL,
            tenant bigint NOT NULL,
            tenant_through bigint NOT NULL,
            newest_at bigint NOT NULL,
            events bytea NOT NULL,
            PRIMARY KEY (session, last_sequence)
        )
        """,
        "CREATE INDEX event_pack_by_tenant ON event_pack (tenant, tenant_through, session)",
        """
        -- secret is sealed: the URL, which may have a token in it, and what signs.
        CREATE TABLE webhook (
            id bigint PRIMARY KEY,
            tenant bigint NOT NULL,
            session bigint,
            state text NOT NULL,
            cursor bigint NOT NULL,
            created_at bigint NOT NULL,
            properties bytea NOT NULL,
            secret bytea NOT NULL
        )
        """,
        "CREATE INDEX webhook_by_session ON webhook (session) WHERE session IS NOT NULL",
        """
        -- Events that webhooks have tried. position: that of the event in the webhook's stream.
        -- state: 0 pending, 1 delivered, 2 failed. kept_at: when the row was written.
        CREATE TABLE delivery (
            webhook bigint NOT NULL,
            position bigint NOT NULL,
            state bigint NOT NULL,
            kept_at bigint NOT NULL,
            delivery bytea NOT NULL,
            PRIMARY KEY (webhook, position)
        )
        """,
        "CREATE INDEX delivery_by_state ON delivery (webhook, state, position)",
        "CREATE INDEX delivery_by_age ON delivery (kept_at) WHERE state <> 0",
    ]

    private static let memories = [
        """
        -- Sealed whole: a cookie, and a credential with its secret, by its number in the session.
        CREATE TABLE cookie (
            session bigint NOT NULL,
            number bigint NOT NULL,
            tenant bigint NOT NULL,
            sealed bytea NOT NULL,
            PRIMARY KEY (session, number)
        )
        """,
        """
        CREATE TABLE credential (
            session bigint NOT NULL,
            number bigint NOT NULL,
            tenant bigint NOT NULL,
            sealed bytea NOT NULL,
            PRIMARY KEY (session, number)
        )
        """,
        """
        -- Stored responses. fingerprint: what stands for the URL, and tells nothing of it. cache:
        -- entries whose number is not their session's are gone for everybody. metadata: sealed; URL,
        -- header fields, selecting fields, user info, times. bytes: sealed; the contents that have
        -- no files.
        CREATE TABLE cache_entry (
            id bigint PRIMARY KEY,
            tenant bigint NOT NULL,
            session bigint NOT NULL,
            cache bigint NOT NULL,
            fingerprint bigint NOT NULL,
            size bigint NOT NULL,
            is_file boolean NOT NULL,
            used_at bigint NOT NULL,
            metadata bytea NOT NULL,
            bytes bytea
        )
        """,
        "ALTER TABLE cache_entry ALTER COLUMN bytes SET STORAGE EXTERNAL",
        "CREATE INDEX cache_entry_by_fingerprint ON cache_entry (session, cache, fingerprint)",
        "CREATE INDEX cache_entry_with_file ON cache_entry (id) WHERE is_file",
        """
        -- Caches that are gone for everybody, but not from the disk.
        CREATE TABLE cache_remains (
            session bigint NOT NULL,
            cache bigint NOT NULL,
            PRIMARY KEY (session, cache)
        )
        """,
    ]

    private static let access = [
        """
        -- Tenants that were made or changed; the operator's own, number 1, may have no row. Those
        -- that have counters are in the table tenant, too. created_at is NULL for that one.
        CREATE TABLE tenant_record (
            id bigint PRIMARY KEY,
            name bytea NOT NULL UNIQUE,
            created_at bigint,
            is_ending boolean NOT NULL,
            properties bytea NOT NULL
        )
        """,
        """
        -- digest: SHA-256 of the token, which is kept nowhere.
        CREATE TABLE token (
            id bigint PRIMARY KEY,
            tenant bigint NOT NULL,
            digest bytea NOT NULL,
            created_at bigint NOT NULL,
            expires_at bigint,
            last_used_at bigint,
            properties bytea NOT NULL
        )
        """,
    ]
}
