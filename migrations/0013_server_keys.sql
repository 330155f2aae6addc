-- The server's secret key can be exchanged while everything that was made under the former one goes on to hold. Keys and tokens are stored as hashes, the activity log and the receipts are signed: none of that can
-- be made anew. So the keys of these uses live here, sealed under the secret key like any other credential, and an exchange of the secret key seals them anew.
CREATE TABLE server_keys (
  id smallint PRIMARY KEY CHECK (id = 1),
  -- AES-256-GCM envelope, see server/platform/server_keys.ts
  sealed bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
