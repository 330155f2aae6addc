-- An event that fails in a replay waits as one of the live delivery does. A replay without an end
-- stops where the live delivery began.
ALTER TABLE plugin_waiting
  -- a replay sent it: a person ordered it, so it survives a new start of the config
  ADD COLUMN is_replay boolean NOT NULL DEFAULT false;

ALTER TABLE plugin_cursors
  -- the config gets events from here on: when it was last enabled; null: before this was noted
  ADD COLUMN started_at timestamptz;
