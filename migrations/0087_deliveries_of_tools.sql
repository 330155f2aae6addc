-- What was set aside keeps the requests and answers. Events of a range, or those that were set
-- aside, are sent again beside the live ones, with a cursor of its own. Ten minutes of a
-- delivery are a point of its charts, and notices tell of tools too.

ALTER TABLE plugin_set_aside
  -- of the last attempt, masked: [{request, answer, error}], at most a few, each body bounded
  ADD COLUMN exchanges json NOT NULL DEFAULT '[]';
CREATE INDEX plugin_set_aside_by_event ON plugin_set_aside (event_uuid);

CREATE TABLE plugin_replays (
  id uuid PRIMARY KEY,
  plugin_config_id integer NOT NULL REFERENCES plugin_configs ON DELETE CASCADE,
  source text NOT NULL CHECK (source IN ('events', 'set_aside')),
  -- of when events were stored, or set aside; null: from the beginning
  start_at timestamptz,
  end_at timestamptz NOT NULL,
  -- only events with these names; null: all
  events text[],
  -- of what was set aside: only at this mapping, with this status, of this event, with this reason
  mapping text,
  status integer,
  of_event uuid,
  reason text,
  -- at most so many events a second
  rate integer NOT NULL,
  total bigint NOT NULL,
  done bigint NOT NULL DEFAULT 0,
  -- events up to this insertion and uuid had their turn; of what was set aside, up to this id
  inserted_at timestamptz NOT NULL,
  event_uuid uuid,
  after_id bigint NOT NULL DEFAULT 0,
  -- failures in a row
  failures integer NOT NULL DEFAULT 0,
  -- what it waits for, or why it ended
  detail text,
  next_at timestamptz NOT NULL DEFAULT now(),
  created_by integer REFERENCES users ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  -- null: all had its turn, or it is not over
  ended_by text CHECK (ended_by IN ('person', 'failures'))
);
CREATE INDEX plugin_replays_by_config ON plugin_replays (plugin_config_id, id DESC);
CREATE INDEX plugin_replays_open ON plugin_replays (plugin_config_id, next_at)
  WHERE finished_at IS NULL;

-- Ten minutes of a delivery.
CREATE TABLE plugin_delivery_points (
  plugin_config_id integer NOT NULL REFERENCES plugin_configs ON DELETE CASCADE,
  start_at timestamptz NOT NULL,
  delivered bigint NOT NULL,
  retried bigint NOT NULL,
  set_aside bigint NOT NULL,
  -- from the storing of an event to its delivery, over those that were delivered live
  delayed bigint NOT NULL,
  delay_ms_sum double precision NOT NULL,
  delay_ms_max double precision NOT NULL,
  PRIMARY KEY (plugin_config_id, start_at)
);
CREATE INDEX plugin_delivery_points_by_age ON plugin_delivery_points (start_at);

-- What notices have told of a delivery; null: it is well.
ALTER TABLE plugin_cursors
  ADD COLUMN told_failing_at timestamptz,
  ADD COLUMN told_set_aside_at timestamptz;

ALTER TABLE notices
  ALTER COLUMN batch_export_id DROP NOT NULL,
  ADD COLUMN plugin_config_id integer REFERENCES plugin_configs ON DELETE CASCADE;
CREATE INDEX notices_by_plugin_config ON notices (plugin_config_id)
  WHERE plugin_config_id IS NOT NULL;
ALTER TABLE notice_deliveries
  ALTER COLUMN batch_export_id DROP NOT NULL,
  ADD COLUMN plugin_config_id integer,
  -- the export or plugin whose notices go to a recipient one after another
  ADD COLUMN subject text GENERATED ALWAYS AS
    (coalesce(batch_export_id::text, plugin_config_id::text)) STORED;
CREATE INDEX notice_deliveries_of_subject ON notice_deliveries (subject, recipient, id)
  WHERE outcome = 'pending';
DROP INDEX notice_deliveries_in_order;
