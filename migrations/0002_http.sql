-- What the API's conduct needs to remember between requests and between processes.

-- One row per Idempotency-Key and caller. A row without a status belongs to a request that is still running.
CREATE TABLE idempotency_keys (
  user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
  key text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  body_hash bytea NOT NULL,
  -- the request that holds the key; a request whose claim was taken over can no longer commit
  claim_id uuid NOT NULL,
  status smallint,
  response_headers jsonb,
  response_body text,
  created_at timestamptz NOT NULL DEFAULT now(),
  locked_until timestamptz NOT NULL,
  PRIMARY KEY (user_id, key, method, path)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- Requests counted per key and window by all API processes together; unlogged, because after a crash a fresh count is right.
CREATE UNLOGGED TABLE rate_counts (
  subject text NOT NULL,
  window_seconds integer NOT NULL,
  window_start timestamptz NOT NULL,
  requests integer NOT NULL,
  PRIMARY KEY (subject, window_seconds, window_start)
);
CREATE INDEX rate_counts_by_age ON rate_counts (window_start);

-- An instant inside of JSON in the spelling that columns have on the wire: UTC, ISO 8601 with Z.
CREATE FUNCTION wire_instant(instant timestamptz) RETURNS text LANGUAGE sql STABLE
RETURN (to_jsonb(instant AT TIME ZONE 'UTC') #>> '{}') || 'Z';
