extension Schema {
    /// What several gateways know each other by that share the tables, each tenant being one's.
    static let nodes = [
        """
        -- The gateways that share the tables: nodes, numbered from 1 to 63. holder: what names the
        -- one that has the number; NULL where it has left, or counts as lost. address: where the
        -- others reach it. folder: a mark that names its data folder. seen: its last sign of life,
        -- by the server's clock. committed: what names its newest transaction.
        CREATE TABLE node (
            id bigint PRIMARY KEY,
            holder bytea,
            address bytea NOT NULL,
            folder bytea NOT NULL,
            joined_at timestamptz NOT NULL,
            seen timestamptz NOT NULL,
            committed bytea,
            is_draining boolean NOT NULL DEFAULT false
        )
        """,
        // node: which of them has the tenant. handed_over: its last node has let it go in order,
        // and nobody has taken it up since. parts_at: the mark of the folder in which parts of
        // downloads are. No more work than a look at the catalogue, whatever there is.
        """
        ALTER TABLE tenant ADD COLUMN node bigint,
            ADD COLUMN handed_over boolean NOT NULL DEFAULT false, ADD COLUMN parts_at bytea
        """,
        // access_version: another one whenever tenants, tokens or settings have changed.
        // contents_mark: what marks the place where nodes have their contents.
        """
        ALTER TABLE gateway ADD COLUMN access_version bigint NOT NULL DEFAULT 0,
            ADD COLUMN contents_mark text
        """,
    ]
}
