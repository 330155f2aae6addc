-- What the server knew and nobody could see: how long the steps of a run took, and from where a key
-- was used last.

ALTER TABLE batch_export_runs
  -- the attempts, oldest first, each with how long its steps took; see server/engine/model/run.ts
  ADD COLUMN steps jsonb NOT NULL DEFAULT '[]';

ALTER TABLE members
  -- when the person last asked for something of the organization, exact to the minute
  ADD COLUMN last_seen_at timestamptz;

ALTER TABLE personal_api_keys
  -- from where and by what it was used at last_used_at
  ADD COLUMN last_used_ip text,
  ADD COLUMN last_used_user_agent text;

ALTER TABLE domains
  -- what each resolver answered at last_checked_at; see server/api/domains/answers.ts
  ADD COLUMN answers jsonb NOT NULL DEFAULT '[]';

-- When the server last read a chain of the activity log again. Apart from the heads, whose locks
-- are those of the changes.
CREATE TABLE activity_checks (
  chain_id uuid PRIMARY KEY,
  -- no other process begins before
  checking_until timestamptz NOT NULL,
  -- null: the first check has not ended
  checked_at timestamptz,
  -- the end of the chain then
  number bigint,
  hash bytea,
  faults_found integer,
  -- the first fault in a sentence
  detail text,
  -- an HMAC over the row, so that nobody without the server's key can say that a check was made
  seal bytea
);
CREATE INDEX activity_checks_by_time ON activity_checks (checked_at);
