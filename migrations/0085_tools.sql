-- Events that a tool did not take, at one of its mappings: they are set aside with the reason, and
-- may be sent again.

CREATE TABLE plugin_set_aside (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  plugin_config_id integer NOT NULL REFERENCES plugin_configs ON DELETE CASCADE,
  event_uuid uuid NOT NULL,
  event text NOT NULL,
  distinct_id text NOT NULL,
  -- the name of the mapping
  mapping text NOT NULL,
  -- of the tool's answer; null: there was none
  status integer,
  reason text NOT NULL,
  attempts integer NOT NULL DEFAULT 1,
  set_aside_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (plugin_config_id, event_uuid, mapping)
);
CREATE INDEX plugin_set_aside_by_config ON plugin_set_aside (plugin_config_id, id);
