-- Directories (Okta, Entra ID) that say over SCIM who is in an organization. A directory belongs to
-- a domain, because the proof of the domain is its authority over the addresses. People are members
-- as all others; here is what the directory alone knows of them.

CREATE TABLE scim_directories (
  domain_id uuid PRIMARY KEY REFERENCES domains ON DELETE CASCADE,
  token_hash bytea NOT NULL CONSTRAINT scim_directories_token_unique UNIQUE,
  mask_value text NOT NULL,
  token_created_at timestamptz NOT NULL,
  last_used_at timestamptz
);

-- Whom the directory has taken in hand: it said something of them, or put them into a group.
CREATE TABLE scim_users (
  domain_id uuid NOT NULL REFERENCES scim_directories ON DELETE CASCADE,
  user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
  external_id text,
  -- of whom it has deactivated: the level with which it may bring them back, never that of owners
  deactivated_level smallint CHECK (deactivated_level IN (1, 8)),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (domain_id, user_id)
);
CREATE INDEX scim_users_by_user ON scim_users (user_id);
CREATE INDEX scim_users_by_external_id ON scim_users (domain_id, external_id)
  WHERE external_id IS NOT NULL;

CREATE TABLE scim_groups (
  id uuid PRIMARY KEY,
  domain_id uuid NOT NULL REFERENCES scim_directories ON DELETE CASCADE,
  display_name text NOT NULL,
  external_id text,
  -- the level that its people have at least; null: it says nothing of levels
  level smallint CHECK (level IN (1, 8)),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX scim_groups_name_unique ON scim_groups (domain_id, lower(display_name));

CREATE TABLE scim_group_members (
  group_id uuid NOT NULL REFERENCES scim_groups ON DELETE CASCADE,
  user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
  PRIMARY KEY (group_id, user_id)
);
CREATE INDEX scim_group_members_by_user ON scim_group_members (user_id);

-- Nobody gets out of the directory's hands by giving the account an address elsewhere, whichever
-- way it is changed: who leaves the company must be taken out all the same.
CREATE FUNCTION keep_scim_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO scim_users (domain_id, user_id)
  SELECT s.domain_id, NEW.id FROM domains d JOIN scim_directories s ON s.domain_id = d.id
    JOIN members m ON m.organization_id = d.organization_id AND m.user_id = NEW.id
  WHERE d.domain = split_part(comparable_address(OLD.email), '@', 2)
  ON CONFLICT DO NOTHING;
  RETURN NEW;
END $$;
CREATE TRIGGER users_keep_scim_user AFTER UPDATE OF email ON users
  FOR EACH ROW WHEN (comparable_address(OLD.email) <> comparable_address(NEW.email))
  EXECUTE FUNCTION keep_scim_user();

-- What goes with a deleted user is counted; after the trigger of 0039, in the order of their names.
CREATE FUNCTION note_scim_user_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE deletions SET counts = counts || jsonb_build_object(
    'directory_records', (SELECT count(*) FROM scim_users WHERE user_id = OLD.id),
    'directory_groups', (SELECT count(*) FROM scim_group_members WHERE user_id = OLD.id))
  WHERE id = OLD.uuid;
  RETURN OLD;
END $$;
CREATE TRIGGER users_deletion_scim BEFORE DELETE ON users
  FOR EACH ROW EXECUTE FUNCTION note_scim_user_deletion();
