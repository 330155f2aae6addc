-- Tools get the events of one request in the order of their timestamps: they share the instant of
-- insertion. A place without a timestamp is of an older release, by whose order it ends its
-- instant.
ALTER TABLE plugin_cursors ADD COLUMN event_timestamp timestamptz;
ALTER TABLE plugin_replays ADD COLUMN event_timestamp timestamptz;
