-- Events that wait for another try at one mapping of a tool, and the later ones of the same
-- persons: the cursor passes them. They are read again from the store, by their place.

CREATE TABLE plugin_waiting (
  -- the order in which they were kept, which is the order of each person
  id bigint GENERATED ALWAYS AS IDENTITY,
  plugin_config_id integer NOT NULL REFERENCES plugin_configs ON DELETE CASCADE,
  -- the name of the mapping
  mapping text NOT NULL,
  event_uuid uuid NOT NULL,
  inserted_at timestamptz NOT NULL,
  distinct_id text NOT NULL,
  person_id uuid NOT NULL,
  tries integer NOT NULL,
  -- null: never
  tried_at timestamptz,
  -- null: it waits for an earlier one of its person
  next_try_at timestamptz,
  -- it may have been sent, and the answer is not known
  is_lost boolean NOT NULL,
  -- of the last try; empty: there was none
  reason text NOT NULL,
  PRIMARY KEY (plugin_config_id, mapping, event_uuid)
);
CREATE INDEX plugin_waiting_by_next_try ON plugin_waiting (plugin_config_id, next_try_at);

ALTER TABLE plugin_cursors
  -- events up to here may have been sent by a worker that did not live to note it
  ADD COLUMN begun_inserted_at timestamptz,
  ADD COLUMN begun_event_uuid uuid,
  -- requests a second, as learnt from the tool; null: no limit is known
  ADD COLUMN pace real,
  -- when the tool last took an event
  ADD COLUMN taken_at timestamptz;
