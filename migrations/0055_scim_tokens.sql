-- A token of a directory does what an owner may, so it must not outlast the owner who made it, nor
-- run for ever. Tokens get a name, a maker and an end, and a directory may have two of them, so
-- that one is replaced without a gap. Whether a directory manages owners is for an owner to say.
--
-- Processes of the release before know one token, in scim_directories. One that they create ends
-- all others, as it does there; one that is revoked here ends there. What they bring back from
-- deactivated_level is an administrator at most: that somebody was an owner stands elsewhere.

ALTER TABLE scim_directories
  ADD COLUMN may_manage_owners boolean NOT NULL DEFAULT false,
  ALTER COLUMN token_hash DROP NOT NULL,
  ALTER COLUMN mask_value DROP NOT NULL,
  ALTER COLUMN token_created_at DROP NOT NULL;

CREATE TABLE scim_tokens (
  id uuid PRIMARY KEY,
  domain_id uuid NOT NULL REFERENCES scim_directories ON DELETE CASCADE,
  name text NOT NULL,
  -- the owner without whom it ends; null with has_maker: their account is deleted
  maker_id integer REFERENCES users ON DELETE SET NULL,
  -- false: made before tokens had a maker
  has_maker boolean NOT NULL,
  token_hash bytea NOT NULL CONSTRAINT scim_tokens_token_unique UNIQUE,
  mask_value text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  last_used_at timestamptz,
  -- of the mails 14 days and 1 day before the end: which was written last
  warned_days smallint
);
CREATE INDEX scim_tokens_by_domain ON scim_tokens (domain_id);
CREATE INDEX scim_tokens_by_maker ON scim_tokens (maker_id) WHERE maker_id IS NOT NULL;

-- A token of before works for another year, so that its end is announced like that of all others.
INSERT INTO scim_tokens (id, domain_id, name, has_maker, token_hash, mask_value, created_at,
  expires_at, last_used_at)
SELECT gen_random_uuid(), domain_id, 'Made before tokens had a maker', false, token_hash,
  mask_value, token_created_at, now() + interval '1 year', last_used_at
FROM scim_directories;

CREATE FUNCTION take_old_scim_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM scim_tokens WHERE domain_id = NEW.domain_id;
  INSERT INTO scim_tokens (id, domain_id, name, has_maker, token_hash, mask_value, created_at,
    expires_at)
  VALUES (gen_random_uuid(), NEW.domain_id, 'Made before tokens had a maker', false,
    NEW.token_hash, NEW.mask_value, NEW.token_created_at, NEW.token_created_at + interval '1 year');
  RETURN NEW;
END $$;
CREATE TRIGGER scim_directories_token AFTER INSERT OR UPDATE OF token_hash ON scim_directories
  FOR EACH ROW WHEN (NEW.token_hash IS NOT NULL) EXECUTE FUNCTION take_old_scim_token();

CREATE FUNCTION end_old_scim_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE scim_directories SET token_hash = NULL
  WHERE domain_id = OLD.domain_id AND token_hash = OLD.token_hash;
  RETURN OLD;
END $$;
CREATE TRIGGER scim_tokens_end AFTER DELETE ON scim_tokens
  FOR EACH ROW EXECUTE FUNCTION end_old_scim_token();

-- The directory's own name of a person, where it is no address of the domain: jdoe.
ALTER TABLE scim_users
  ADD COLUMN user_name text,
  -- of whom it has deactivated: they were an owner
  ADD COLUMN was_owner boolean NOT NULL DEFAULT false;
CREATE INDEX scim_users_by_user_name ON scim_users (domain_id, lower(user_name))
  WHERE user_name IS NOT NULL;

-- Nobody is remembered as an owner once they are back, whoever brought them back.
CREATE FUNCTION forget_scim_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.was_owner := false;
  RETURN NEW;
END $$;
CREATE TRIGGER scim_users_owner BEFORE UPDATE ON scim_users
  FOR EACH ROW WHEN (NEW.was_owner AND NEW.deactivated_level IS NULL)
  EXECUTE FUNCTION forget_scim_owner();
