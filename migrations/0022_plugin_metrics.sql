-- What plugins count, what they wait for, and jobs that people start.

-- The counters of a plugin in one project, since it exports them under this name with this
-- operation.
CREATE TABLE plugin_metrics (
  plugin_config_id integer NOT NULL REFERENCES plugin_configs ON DELETE CASCADE,
  name text NOT NULL,
  operation text NOT NULL CHECK (operation IN ('sum', 'max', 'min')),
  value double precision NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (plugin_config_id, name)
);

ALTER TABLE plugin_cursors
  -- why nothing goes on although nothing failed, as a sentence: a host that the settings do not
  -- allow
  ADD COLUMN held_reason text,
  ADD COLUMN held_at timestamptz;

-- a person asked for it and waits for its end: the log says how it ended
ALTER TABLE plugin_jobs ADD COLUMN is_started_by_person boolean NOT NULL DEFAULT false;
