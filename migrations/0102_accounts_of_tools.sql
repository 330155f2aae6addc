-- A notice tells once that a person has to connect a tool again.
ALTER TABLE plugin_cursors ADD COLUMN told_disconnected_at timestamptz;

-- Until now `failing` told of it: targets that took that take the new one too.
UPDATE notice_targets SET events = events || '{disconnected}'::text[]
WHERE 'failing' = ANY (events) AND NOT 'disconnected' = ANY (events);

ALTER TABLE plugin_cursors
  -- HMAC of what leads to the account at the tool; null: the config shares its account with none
  ADD COLUMN account bytea,
  -- the process that has the account in its hands while the lease holds
  ADD COLUMN account_worker uuid;
CREATE INDEX plugin_cursors_by_account ON plugin_cursors (account) WHERE account IS NOT NULL;
