-- Passkeys (WebAuthn): a person signs in with one beside the password, or without any password.
-- A process of the release before does not count them as a second factor.

CREATE TABLE passkeys (
  id uuid PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
  -- as browsers write it: base64url
  credential_id text NOT NULL CONSTRAINT passkeys_credential_unique UNIQUE,
  -- a COSE key
  public_key bytea NOT NULL,
  -- of the last use; authenticators that do not count always say 0
  sign_count bigint NOT NULL,
  transports text[] NOT NULL,
  -- the model of the authenticator; zeros where it does not tell
  aaguid uuid NOT NULL,
  name text NOT NULL,
  is_backup_eligible boolean NOT NULL,
  is_backed_up boolean NOT NULL,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz
);
CREATE INDEX passkeys_by_user ON passkeys (user_id);

-- Challenges that were answered, until they expire, so that each is answered once. One that nobody
-- has answered has no row: its own HMAC says that it is ours. So nobody fills the table by asking.
CREATE TABLE passkey_challenges (
  challenge_hash bytea PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX passkey_challenges_by_expiry ON passkey_challenges (expires_at);

-- What goes with a deleted user is counted; after the trigger of 0039, in the order of their names.
CREATE FUNCTION note_passkey_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE deletions SET counts = counts || jsonb_build_object(
    'passkeys', (SELECT count(*) FROM passkeys WHERE user_id = OLD.id))
  WHERE id = OLD.uuid;
  RETURN OLD;
END $$;
CREATE TRIGGER users_deletion_passkeys BEFORE DELETE ON users
  FOR EACH ROW EXECUTE FUNCTION note_passkey_deletion();
