-- Erasures of persons, or of the events that a filter matches: what was asked for, how far it is,
-- what was found at destinations, and its certificate. Nothing here names a person in the open.

CREATE TABLE erasures (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('persons', 'events')),
  -- what becomes of later events of the persons
  late_events text NOT NULL CHECK (late_events IN ('refuse', 'anonymize')),
  -- whom or what: AES-256-GCM envelope, gone as soon as it is over
  criteria_sealed bytea,
  -- how many were named, by kind: what may be told of the criteria
  asked jsonb NOT NULL,
  status text NOT NULL DEFAULT 'Starting' CHECK (status IN ('Starting', 'Running', 'Completed')),
  step text NOT NULL DEFAULT 'resolve' CHECK (step IN
    ('resolve', 'note', 'remove', 'settle', 'rewrite', 'scrub', 'files', 'certify', 'done')),
  -- what it waits for, or why the latest try failed, as a sentence
  detail text,
  -- what was stored later is none of it
  stored_until timestamptz,
  -- when the store held none of it any more
  removed_at timestamptz,
  -- what was found and what was done, by name
  counts jsonb NOT NULL DEFAULT '{}',
  -- the process that works on it, and when it was heard of last
  claim_id uuid,
  claimed_at timestamptz,
  due_at timestamptz NOT NULL DEFAULT now(),
  created_by integer REFERENCES users ON DELETE SET NULL,
  -- what was erased, as JSON, and the server's Ed25519 signature of exactly that text
  certificate text,
  signature text,
  created_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz CHECK ((finished_at IS NULL) = (status <> 'Completed')),
  last_updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX erasures_by_project ON erasures (team_id, created_at DESC, id DESC);
CREATE INDEX erasures_open ON erasures (team_id, created_at) WHERE finished_at IS NULL;

-- Deliveries that brought rows of an erasure to a destination, and what became of these copies.
CREATE TABLE erasure_copies (
  erasure_id uuid NOT NULL REFERENCES erasures ON DELETE CASCADE,
  delivery_id uuid NOT NULL,
  batch_export_id uuid NOT NULL,
  -- as the export was called, and where it delivered to
  name text NOT NULL,
  destination_type text NOT NULL,
  place text NOT NULL,
  data_interval_start timestamptz NOT NULL,
  data_interval_end timestamptz NOT NULL,
  -- the run whose receipt is to be replaced
  run_id uuid NOT NULL,
  -- rows of the erasure that the delivery was made from
  records bigint NOT NULL,
  -- rewritten: a new receipt stands for it. yours: somebody has to remove it by hand
  state text NOT NULL CHECK (state IN ('waiting', 'rewriting', 'rewritten', 'yours')),
  detail text,
  new_run_id uuid,
  PRIMARY KEY (erasure_id, delivery_id)
);
CREATE INDEX erasure_copies_open ON erasure_copies (erasure_id, state)
  WHERE state IN ('waiting', 'rewriting');

-- Distinct ids of erased persons, as an HMAC under the server's key: so that a late event is known
-- without the id being kept.
CREATE TABLE erased_ids (
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  id_hash bytea NOT NULL,
  late_events text NOT NULL CHECK (late_events IN ('refuse', 'anonymize')),
  erasure_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (team_id, id_hash)
);

-- Of a deleted project: when the analytics store had none of its rows any more; its files may be
-- there for some minutes.
ALTER TABLE removals ADD COLUMN removed_at timestamptz;

-- {erasure_id, run_id, receipt_sha256} of a run that writes a delivery once more without rows that
-- were erased: which receipt its own stands for.
ALTER TABLE batch_export_runs ADD COLUMN replaces jsonb;
