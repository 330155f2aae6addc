-- People: how they sign in and prove who they are, how they are invited, and the log of everything that anybody changed.

-- The second factor. The seed is sealed under the server's key; it counts from `totp_confirmed_at` on. A code's time step is used once.
ALTER TABLE users
  ADD COLUMN totp_secret bytea,
  ADD COLUMN totp_confirmed_at timestamptz,
  ADD COLUMN totp_last_step bigint;

-- One-time codes for the day on which the second factor is lost; HMAC of each.
CREATE TABLE recovery_codes (
  user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
  code_hash bytea NOT NULL,
  used_at timestamptz,
  PRIMARY KEY (user_id, code_hash)
);

-- Accounts elsewhere under which a user signs in: `saml` with a domain's provider, or an OpenID provider.
CREATE TABLE social_identities (
  id uuid PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
  provider text NOT NULL,
  subject text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT social_identities_unique UNIQUE (provider, subject)
);
CREATE INDEX social_identities_by_user ON social_identities (user_id);

-- A browser that is signed in. The cookie holds the token, the row its HMAC; the token is replaced now and then, and the one before it
-- is taken a little longer, so that requests under way do not fail.
CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
  token_hash bytea NOT NULL CONSTRAINT sessions_token_unique UNIQUE,
  previous_token_hash bytea,
  token_created_at timestamptz NOT NULL,
  -- how the user signed in: password, saml, or the name of an OpenID provider
  method text NOT NULL,
  ip text NOT NULL,
  user_agent text NOT NULL,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id, created_at DESC);
CREATE UNIQUE INDEX sessions_by_previous_token ON sessions (previous_token_hash);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Links to a user: each works once, and a new one takes the place of the one before it. `email` is the address that it was mailed to and so proves; null when the operator
-- hands it over.
CREATE TABLE user_links (
  user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
  purpose text NOT NULL CHECK (purpose IN ('verify_email', 'reset_password')),
  token_hash bytea NOT NULL CONSTRAINT user_links_token_unique UNIQUE,
  email text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, purpose),
  CHECK (purpose = 'reset_password' OR email IS NOT NULL)
);
CREATE INDEX user_links_by_expiry ON user_links (expires_at);

-- What is slowed: tries of passwords and codes per account and per address, and mails that anybody can have sent. The longer the series, the longer the pause before the
-- next attempt. A subject that is an e-mail address is its HMAC, so that the addresses of strangers are not collected.
CREATE TABLE attempts (
  subject text PRIMARY KEY,
  attempts integer NOT NULL,
  last_attempt_at timestamptz NOT NULL,
  blocked_until timestamptz NOT NULL
);
CREATE INDEX attempts_by_age ON attempts (last_attempt_at);

-- An open invitation. Whether it is expired is computed from `sent_at`. The link's token is an HMAC over the id and `token_nonce`, so it can be shown
-- again to nobody but who may send it again.
CREATE TABLE invites (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  target_email text NOT NULL,
  first_name text NOT NULL DEFAULT '',
  level smallint NOT NULL CHECK (level IN (1, 8, 15)),
  message text,
  emailing_attempt_made boolean NOT NULL DEFAULT false,
  token_nonce uuid NOT NULL,
  created_by integer REFERENCES users ON DELETE SET NULL,
  created_at timestamptz NOT NULL,
  sent_at timestamptz NOT NULL,
  -- who vouches for it: the link holds only while he is a member with at least its level
  sent_by integer REFERENCES users ON DELETE SET NULL,
  updated_at timestamptz NOT NULL
);
-- one open invitation per address and organization, however the address is written
CREATE UNIQUE INDEX invites_target_unique ON invites (organization_id, comparable_address(target_email));
CREATE INDEX invites_by_organization ON invites (organization_id, created_at DESC, id DESC);
-- for the deletion of a user, whose name goes out of them
CREATE INDEX invites_by_creator ON invites (created_by);
CREATE INDEX invites_by_sender ON invites (sent_by);

-- Everything that was changed: one row per successful write, in the transaction of the write. A chain is an organization, or a person for what is
-- his alone. Rows of a chain are numbered without gaps and each carries the HMAC of itself and of the row before, so that a row that is edited, removed or moved is
-- noticed. No reference to the records: what is deleted stays in the log.
CREATE TABLE activity (
  id uuid PRIMARY KEY,
  chain_id uuid NOT NULL,
  number bigint NOT NULL,
  organization_id uuid,
  activity text NOT NULL,
  scope text NOT NULL,
  item_id text NOT NULL,
  item_name text,
  -- json, not jsonb: the text is kept as it was hashed
  changes json NOT NULL,
  user_id integer,
  user_uuid uuid,
  user_email text,
  key_id uuid,
  key_mask text,
  session_id uuid,
  ip text,
  request_id text,
  created_at timestamptz NOT NULL,
  previous_hash bytea NOT NULL,
  hash bytea NOT NULL,
  CONSTRAINT activity_number_unique UNIQUE (chain_id, number)
);

-- What the log is asked for: who did it, to what, with which key, when. The newest first is the order of activity_number_unique, which is also read backwards.
CREATE INDEX activity_by_user ON activity (chain_id, user_uuid, number);
CREATE INDEX activity_by_item ON activity (chain_id, item_id, number);
CREATE INDEX activity_by_scope ON activity (chain_id, scope, number);
CREATE INDEX activity_by_key ON activity (chain_id, key_id, number) WHERE key_id IS NOT NULL;
CREATE INDEX activity_by_instant ON activity (chain_id, created_at);

-- The end of each chain; its row is the lock under which a chain grows. `seal` is an HMAC over the rest. It stands nowhere else and the next one replaces it, so who cuts entries
-- off the end cannot put back what stood here before them.
CREATE TABLE activity_heads (
  chain_id uuid PRIMARY KEY,
  number bigint NOT NULL,
  hash bytea NOT NULL,
  seal bytea NOT NULL
);

-- A key without limits has null. A limit that names nothing would open nothing and look like none, so there is no such row.
ALTER TABLE personal_api_keys ADD CONSTRAINT personal_api_keys_limits CHECK (scoped_organizations <> '{}' AND scoped_teams <> '{}');

-- When a successor was made for the key; from then on its end cannot be put off.
ALTER TABLE personal_api_keys ADD COLUMN rolled_at timestamptz;

-- Answers that are replayed can hold what is shown only once, such as a new key: they are sealed under the server's key.
ALTER TABLE idempotency_keys DROP COLUMN response_body;
ALTER TABLE idempotency_keys ADD COLUMN response_sealed bytea;
