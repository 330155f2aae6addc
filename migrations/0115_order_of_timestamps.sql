-- Tools get the events of one request in the order of their timestamps: they share the instant of
-- insertion. A worker of release 1.0.0 beside this one finds no `event_uuid` then, and sends the
-- events of such an instant again.
ALTER TABLE plugin_cursors
  -- {inserted_at, timestamp, uuid} of the last event that is done; only of that instant
  ADD COLUMN within_instant json;
ALTER TABLE plugin_replays
  -- the same of a replay
  ADD COLUMN within_instant json;
