-- What was refused is known to whom it concerns: to owners in a list of their organization, to each
-- person in one of their own. It is written beside the requests, since a refusal rolls its
-- transaction back. Unlike the activity log it is bounded, and goes after 400 days.

CREATE TABLE security_events (
  -- grows from commit to commit: microseconds since 1970, or one more than the last one
  number bigint PRIMARY KEY,
  id uuid NOT NULL,
  -- whose list it is in: an organization's or a person's
  organization_id uuid REFERENCES organizations ON DELETE CASCADE,
  user_id integer REFERENCES users ON DELETE CASCADE,
  -- whom it is about, as they were then; null: nobody knows
  user_uuid uuid,
  user_email text,
  event text NOT NULL,
  reason text NOT NULL,
  key_mask text,
  session_id uuid,
  ip text NOT NULL,
  user_agent text NOT NULL,
  method text NOT NULL,
  route text NOT NULL,
  item_id text,
  request_id text NOT NULL,
  -- how many alike it stands for
  count integer NOT NULL,
  created_at timestamptz NOT NULL,
  CHECK (num_nonnulls(organization_id, user_id) = 1)
);
CREATE INDEX security_events_by_organization ON security_events (organization_id, number, id)
  WHERE organization_id IS NOT NULL;
CREATE INDEX security_events_by_user ON security_events (user_id, number, id)
  WHERE user_id IS NOT NULL;
CREATE INDEX security_events_by_age ON security_events (created_at);

-- The browsers in which a person has signed in: each has a random cookie, of which the HMAC with
-- the person is kept, so that nobody sees from here that two people share one.
CREATE TABLE sign_in_devices (
  user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
  device_hash bytea NOT NULL,
  first_seen_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, device_hash)
);
CREATE INDEX sign_in_devices_by_age ON sign_in_devices (last_seen_at);

-- Which of the warnings (14 days before, 1 day before) the owner of a key got; null: none.
ALTER TABLE personal_api_keys ADD COLUMN expiry_warned_days smallint;
CREATE INDEX personal_api_keys_by_expiry ON personal_api_keys (expires_at)
  WHERE expires_at IS NOT NULL;
