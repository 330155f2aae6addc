-- Mails on their way to the relay, written in the transaction of the change that they tell of, so
-- that neither a kill nor a relay that is away loses one.

CREATE TABLE mails (
  -- also the left half of the Message-ID, the same at every attempt
  id uuid PRIMARY KEY,
  -- the link in it: `invite:<id>:<nonce>` or `user_link:<hash in hex>`; null without one
  link text,
  -- recipient, subject and content: AES-256-GCM envelope, gone as soon as it is over
  message_sealed bytea,
  outcome text NOT NULL DEFAULT 'pending' CHECK (outcome IN ('pending', 'sent', 'given_up')),
  -- those that were begun; 0: not taken yet by the process that wrote it
  attempts integer NOT NULL DEFAULT 0,
  -- of a mail in the hands of a process: when another one takes it
  next_attempt_at timestamptz,
  -- from then on nobody wants it any more
  expires_at timestamptz NOT NULL,
  CHECK ((message_sealed IS NOT NULL) = (outcome = 'pending')),
  CHECK ((next_attempt_at IS NOT NULL) = (outcome = 'pending'))
);
CREATE INDEX mails_due ON mails (next_attempt_at, id) WHERE outcome = 'pending';
CREATE INDEX mails_by_link ON mails (link) WHERE outcome = 'pending' AND link IS NOT NULL;
CREATE INDEX mails_by_end ON mails (expires_at);

-- A mail whose link opens nothing any more is not sent, whatever ended the link.
CREATE FUNCTION withdraw_mails() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'invites' THEN
    DELETE FROM mails WHERE outcome = 'pending'
      AND link = 'invite:' || OLD.id || ':' || OLD.token_nonce;
  ELSE
    DELETE FROM mails WHERE outcome = 'pending'
      AND link = 'user_link:' || encode(OLD.token_hash, 'hex');
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER invites_mails AFTER DELETE OR UPDATE OF token_nonce ON invites
  FOR EACH ROW EXECUTE FUNCTION withdraw_mails();
CREATE TRIGGER user_links_mails AFTER DELETE OR UPDATE OF token_hash ON user_links
  FOR EACH ROW EXECUTE FUNCTION withdraw_mails();
