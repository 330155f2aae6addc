-- Addresses by which a directory knew somebody whose account has another one by now, or is deleted.
-- A sign-in with such an address is nobody new: were it let in, a person whom the directory has
-- taken out, or can no longer find, would come back as a second account. Hashed, because nothing
-- that is kept is to name somebody who is gone.
CREATE TABLE scim_left_addresses (
  domain_id uuid NOT NULL REFERENCES scim_directories ON DELETE CASCADE,
  address_hash bytea NOT NULL,
  PRIMARY KEY (domain_id, address_hash)
);

CREATE FUNCTION scim_address_hash(address text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT
  RETURN sha256(convert_to('scim address ' || comparable_address(address), 'UTF8'));

-- By its name after users_keep_scim_user, which takes members in hand whose address is changed.
CREATE FUNCTION note_scim_left_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO scim_left_addresses (domain_id, address_hash)
  SELECT s.domain_id, scim_address_hash(OLD.email) FROM scim_users s
    JOIN domains d ON d.id = s.domain_id
  WHERE s.user_id = OLD.id AND d.domain = split_part(comparable_address(OLD.email), '@', 2)
  ON CONFLICT DO NOTHING;
  RETURN OLD;
END $$;
CREATE TRIGGER users_left_scim_address AFTER UPDATE OF email ON users
  FOR EACH ROW WHEN (comparable_address(OLD.email) <> comparable_address(NEW.email))
  EXECUTE FUNCTION note_scim_left_address();
CREATE TRIGGER users_deletion_scim_address BEFORE DELETE ON users
  FOR EACH ROW EXECUTE FUNCTION note_scim_left_address();
