internal import Engine
internal import GRDB

/// The tables, by migration. A migration that has been released is never changed.
///
/// Ids are unique over all tenants (they come from one source), and a row of a tenant carries the
/// tenant, which every look-up by a client's id compares.
enum Schema {
    /// Brings the tables to this version.
    ///
    /// - Throws: when a later version of Ferry has written the database.
    static func migrate(_ writer: some DatabaseWriter) throws {
        let migrator = migrator
        guard try !writer.read(migrator.hasBeenSuperseded) else {
            throw StoreError.failed("The database was written by a later version of Ferry.")
        }
        try migrator.migrate(writer)
    }

    /// Refuses tables that are not those of this version, where nothing may be changed.
    static func requireThisVersion(of database: Database) throws {
        let migrator = migrator
        guard try migrator.hasCompletedMigrations(database),
            try !migrator.hasBeenSuperseded(database)
        else {
            throw StoreError.failed(
                "The tables are those of another version of Ferry: start this one on them first.")
        }
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 sessions, tasks, contents, events") { database in
            try database.execute(sql: first)
        }
        migrator.registerMigration("2 files, creations, limits") { database in
            try database.execute(sql: second)
        }
        migrator.registerMigration("3 decisions") { database in
            try database.execute(sql: third)
        }
        migrator.registerMigration("4 cookies, credentials, caches") { database in
            try database.execute(sql: fourth)
        }
        migrator.registerMigration("5 lists by type, counts") { database in
            try database.execute(sql: fifth)
        }
        migrator.registerMigration("6 kept time") { database in
            try database.execute(sql: sixth)
        }
        migrator.registerMigration("7 background sessions") { database in
            try database.execute(sql: seventh)
        }
        migrator.registerMigration("8 quiet time") { database in
            try database.execute(sql: eighth)
        }
        migrator.registerMigration("9 webhooks") { database in
            try database.execute(sql: ninth)
        }
        migrator.registerMigration("10 metadata") { database in
            try database.execute(sql: tenth)
            try TaskSearch.markFailures(in: database)
        }
        migrator.registerMigration("11 tenants") { database in
            try database.execute(sql: eleventh)
        }
        migrator.registerMigration("12 counts without triggers") { database in
            try database.execute(sql: twelfth)
        }
        return migrator
    }

    private static let first = """
        -- One row. keyCheck is sealed: it opens with the right key only.
        CREATE TABLE gateway (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            keyCheck BLOB NOT NULL,
            lastForgottenIdentifier INTEGER NOT NULL DEFAULT 0
        );
        -- forgottenSequence: the newest tenant sequence whose event is not kept any more.
        CREATE TABLE tenant (
            id INTEGER PRIMARY KEY,
            lastSequence INTEGER NOT NULL DEFAULT 0,
            forgottenSequence INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE session (
            id INTEGER PRIMARY KEY,
            tenant INTEGER NOT NULL,
            type TEXT NOT NULL,
            state TEXT NOT NULL,
            description TEXT,
            createdAt INTEGER NOT NULL,
            invalidatedAt INTEGER,
            lastSequence INTEGER NOT NULL,
            lastTaskNumber INTEGER NOT NULL,
            constants BLOB NOT NULL,
            secret BLOB
        );
        -- Written once, but for state, hasLiveAttempt and startedAt, which leave the row's size as
        -- it is: so it is overwritten in its place. firstEvent: none of the task's events has a
        -- lower sequence.
        CREATE TABLE task (
            id INTEGER PRIMARY KEY,
            tenant INTEGER NOT NULL,
            session INTEGER NOT NULL,
            number INTEGER NOT NULL,
            type INTEGER NOT NULL,
            state INTEGER NOT NULL,
            hasLiveAttempt INTEGER NOT NULL,
            createdAt INTEGER NOT NULL,
            startedAt INTEGER,
            firstEvent INTEGER NOT NULL,
            request BLOB NOT NULL
        );
        CREATE INDEX task_by_session ON task (session, state);
        CREATE INDEX task_outstanding ON task (state, tenant) WHERE state < 5;
        -- Suspended on the wire: the few among the suspended that a start has to look at.
        CREATE INDEX task_held ON task (id) WHERE state = 2 AND hasLiveAttempt = 1;
        -- What of a task changes; a task that is as it was created has no row. lastEvent: the
        -- session's sequence of the task's last event, once it has completed.
        CREATE TABLE task_status (
            task INTEGER PRIMARY KEY,
            completedAt INTEGER,
            lastEvent INTEGER,
            status BLOB NOT NULL,
            secret BLOB
        );
        CREATE INDEX task_status_completed ON task_status (completedAt)
            WHERE completedAt IS NOT NULL;
        -- Sealed: what is sensitive of the original request.
        CREATE TABLE task_secret (
            task INTEGER PRIMARY KEY,
            secret BLOB NOT NULL
        );
        -- Sealed: the bodies that are kept here.
        CREATE TABLE content (
            task INTEGER PRIMARY KEY,
            bytes BLOB NOT NULL
        );
        -- All events of one session in one commit. tenantThrough: the newest tenant sequence of
        -- that commit.
        CREATE TABLE event_pack (
            id INTEGER PRIMARY KEY,
            tenant INTEGER NOT NULL,
            session INTEGER NOT NULL,
            firstSequence INTEGER NOT NULL,
            lastSequence INTEGER NOT NULL,
            tenantThrough INTEGER NOT NULL,
            newestAt INTEGER NOT NULL,
            events BLOB NOT NULL
        );
        CREATE UNIQUE INDEX event_pack_by_session ON event_pack (session, lastSequence);
        CREATE INDEX event_pack_by_tenant ON event_pack (tenant, tenantThrough);
        """

    private static let second = """
        -- Bytes of bodies a second; NULL for no limit.
        ALTER TABLE gateway ADD COLUMN maximumBytesPerSecond INTEGER;
        ALTER TABLE session ADD COLUMN maximumBytesPerSecond INTEGER;
        -- Staged files, few and long-lived. Their bytes are elsewhere.
        CREATE TABLE file (
            id INTEGER PRIMARY KEY,
            tenant INTEGER NOT NULL,
            length INTEGER NOT NULL,
            isComplete INTEGER NOT NULL,
            announcedLength INTEGER,
            expectedDigest TEXT,
            mediaType TEXT,
            createdAt INTEGER NOT NULL,
            usedAt INTEGER NOT NULL
        );
        -- What a request with an Idempotency-Key has created. The fingerprint is sealed: it is a
        -- digest of a body, and a short body can be guessed. created: numbers, packed.
        CREATE TABLE creation (
            tenant INTEGER NOT NULL,
            key TEXT NOT NULL,
            at INTEGER NOT NULL,
            fingerprint BLOB NOT NULL,
            created BLOB NOT NULL,
            PRIMARY KEY (tenant, key)
        ) WITHOUT ROWID;
        CREATE INDEX creation_by_age ON creation (at);
        """

    private static let third = """
        -- What a session's delegate is asked, until the task is forgotten. Written once, but for
        -- state and deadline, which leave the row's size as it is: so it is overwritten in its
        -- place, and a long question is not written again. secret: sealed, what is sensitive of
        -- the question.
        CREATE TABLE decision (
            id INTEGER PRIMARY KEY,
            tenant INTEGER NOT NULL,
            session INTEGER NOT NULL,
            task INTEGER NOT NULL,
            kind TEXT NOT NULL,
            state INTEGER NOT NULL,
            createdAt INTEGER NOT NULL,
            deadline INTEGER NOT NULL,
            question BLOB NOT NULL,
            secret BLOB
        );
        CREATE INDEX decision_by_task ON decision (task);
        CREATE INDEX decision_pending ON decision (id) WHERE state = 2;
        -- Server certificates that a session's client has decided about; NULL for none.
        ALTER TABLE session ADD COLUMN knownLeaves BLOB;
        """

    private static let fourth = """
        -- Sealed whole: a cookie, and a credential with its secret, by its number in the session.
        CREATE TABLE cookie (
            session INTEGER NOT NULL,
            number INTEGER NOT NULL,
            tenant INTEGER NOT NULL,
            sealed BLOB NOT NULL,
            PRIMARY KEY (session, number)
        ) WITHOUT ROWID;
        CREATE TABLE credential (
            session INTEGER NOT NULL,
            number INTEGER NOT NULL,
            tenant INTEGER NOT NULL,
            sealed BLOB NOT NULL,
            PRIMARY KEY (session, number)
        ) WITHOUT ROWID;
        -- Stored responses. fingerprint: what stands for the URL, and tells nothing of it. cache:
        -- entries whose number is not their session's are gone for everybody. Short, because usedAt
        -- is written with every use: what is long is in tables of its own.
        CREATE TABLE cache_entry (
            id INTEGER PRIMARY KEY,
            tenant INTEGER NOT NULL,
            session INTEGER NOT NULL,
            cache INTEGER NOT NULL,
            fingerprint INTEGER NOT NULL,
            size INTEGER NOT NULL,
            isFile INTEGER NOT NULL,
            usedAt INTEGER NOT NULL
        );
        CREATE INDEX cache_entry_by_fingerprint ON cache_entry (session, cache, fingerprint);
        -- Sealed: URL, header fields, selecting fields, user info, times.
        CREATE TABLE cache_metadata (
            entry INTEGER PRIMARY KEY,
            metadata BLOB NOT NULL
        );
        -- Sealed: the contents that have no files.
        CREATE TABLE cache_content (
            entry INTEGER PRIMARY KEY,
            bytes BLOB NOT NULL
        );
        -- Caches that are gone for everybody, but not from the disk.
        CREATE TABLE cache_remains (
            session INTEGER NOT NULL,
            cache INTEGER NOT NULL,
            PRIMARY KEY (session, cache)
        ) WITHOUT ROWID;
        -- The number of the session's cache; another one makes it empty at once.
        ALTER TABLE session ADD COLUMN cache INTEGER NOT NULL DEFAULT 0;
        """

    private static let fifth = """
        -- A list of one state and type is a range of one of these.
        DROP INDEX task_by_session;
        CREATE INDEX task_by_session ON task (session, state, type);
        DROP INDEX task_outstanding;
        CREATE INDEX task_outstanding ON task (state, tenant, type) WHERE state < 5;
        CREATE INDEX task_history ON task (tenant, type) WHERE state = 5;
        -- How many tasks of a session are in a state.
        CREATE TABLE task_count (
            session INTEGER NOT NULL,
            state INTEGER NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (session, state)
        ) WITHOUT ROWID;
        INSERT INTO task_count SELECT session, state, count(*) FROM task GROUP BY session, state;
        CREATE TRIGGER task_is_created AFTER INSERT ON task BEGIN
            INSERT INTO task_count VALUES (new.session, new.state, 1)
                ON CONFLICT DO UPDATE SET count = count + 1;
        END;
        CREATE TRIGGER task_changes AFTER UPDATE OF state ON task WHEN new.state <> old.state BEGIN
            UPDATE task_count SET count = count - 1
                WHERE session = old.session AND state = old.state;
            INSERT INTO task_count VALUES (new.session, new.state, 1)
                ON CONFLICT DO UPDATE SET count = count + 1;
        END;
        CREATE TRIGGER task_goes AFTER DELETE ON task BEGIN
            UPDATE task_count SET count = count - 1
                WHERE session = old.session AND state = old.state;
        END;
        """

    private static let sixth = """
        -- What retention goes by from now on is a time that does not jump with the wall clock. It began as
        -- that one, so what was written before is in it too: session.invalidatedAt, creation.at,
        -- file.usedAt and event_pack.newestAt, which is the commit's.
        -- Of a task people read the wall clock. NULL: the same as completedAt.
        ALTER TABLE task_status ADD COLUMN keptSince INTEGER;
        DROP INDEX task_status_completed;
        CREATE INDEX task_status_kept ON task_status (coalesce(keptSince, completedAt))
            WHERE completedAt IS NOT NULL;
        -- What three clocks showed at one instant, in milliseconds; NULL before the first start.
        ALTER TABLE gateway ADD COLUMN keptMark INTEGER;
        ALTER TABLE gateway ADD COLUMN wallMark INTEGER;
        ALTER TABLE gateway ADD COLUMN bootMark TEXT;
        ALTER TABLE gateway ADD COLUMN elapsedMark INTEGER;
        """

    private static let seventh = """
        -- Whether session.didFinishEvents is owed.
        ALTER TABLE session ADD COLUMN owesFinish INTEGER NOT NULL DEFAULT 0;
        """

    private static let eighth = """
        -- Whether work begins that may be put off.
        ALTER TABLE gateway ADD COLUMN backgroundUpdates INTEGER NOT NULL DEFAULT 1;
        -- Whether the task is one of a background session: its result is kept for another time.
        ALTER TABLE task_status ADD COLUMN isBackground INTEGER NOT NULL DEFAULT 0;
        UPDATE task_status SET isBackground = 1 WHERE task IN (SELECT task.id
            FROM task JOIN session ON session.id = task.session WHERE session.type = 'background');
        DROP INDEX task_status_kept;
        CREATE INDEX task_status_kept
            ON task_status (isBackground, coalesce(keptSince, completedAt))
            WHERE completedAt IS NOT NULL;
        """

    private static let ninth = """
        -- secret is sealed: the URL, which may have a token in it, and what signs.
        CREATE TABLE webhook (
            id INTEGER PRIMARY KEY,
            tenant INTEGER NOT NULL,
            session INTEGER,
            state TEXT NOT NULL,
            cursor INTEGER NOT NULL,
            createdAt INTEGER NOT NULL,
            properties BLOB NOT NULL,
            secret BLOB NOT NULL
        );
        CREATE INDEX webhook_by_session ON webhook (session) WHERE session IS NOT NULL;
        -- Events that webhooks have tried. position: that of the event in the webhook's stream.
        -- state: 0 pending, 1 delivered, 2 failed. keptAt: when the row was written.
        CREATE TABLE delivery (
            webhook INTEGER NOT NULL,
            position INTEGER NOT NULL,
            state INTEGER NOT NULL,
            keptAt INTEGER NOT NULL,
            delivery BLOB NOT NULL,
            PRIMARY KEY (webhook, position)
        ) WITHOUT ROWID;
        CREATE INDEX delivery_by_state ON delivery (webhook, state, position);
        CREATE INDEX delivery_by_age ON delivery (keptAt) WHERE state <> 0;
        """

    private static let tenth = """
        -- By which tasks are found: what clients keep with them. The task's own record has it, too.
        CREATE TABLE task_metadata (
            tenant INTEGER NOT NULL,
            key TEXT NOT NULL,
            value TEXT NOT NULL,
            task INTEGER NOT NULL,
            PRIMARY KEY (tenant, key, value, task)
        ) WITHOUT ROWID;
        CREATE INDEX task_metadata_by_task ON task_metadata (task);
        -- NULL for none.
        ALTER TABLE session ADD COLUMN metadata BLOB;
        -- Whether the task has completed with an error.
        ALTER TABLE task_status ADD COLUMN hasError INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX task_failed ON task_status (task) WHERE hasError = 1;
        -- A page of one state is a range.
        CREATE INDEX decision_by_tenant ON decision (tenant, state);
        """

    private static let eleventh = """
        -- Tenants that were made or changed; the operator's own, number 1, may have no row. Those
        -- that have counters are in the table tenant, too. createdAt is NULL for that one.
        CREATE TABLE tenant_record (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            createdAt INTEGER,
            isEnding INTEGER NOT NULL,
            properties BLOB NOT NULL
        );
        -- digest: SHA-256 of the token, which is kept nowhere.
        CREATE TABLE token (
            id INTEGER PRIMARY KEY,
            tenant INTEGER NOT NULL,
            digest BLOB NOT NULL,
            createdAt INTEGER NOT NULL,
            expiresAt INTEGER,
            lastUsedAt INTEGER,
            properties BLOB NOT NULL
        );
        """

    private static let twelfth = """
        -- Whoever creates a task or changes its state counts it (TaskCounts): see there why. What
        -- deletes one need not.
        DROP TRIGGER task_is_created;
        DROP TRIGGER task_changes;
        """
}
