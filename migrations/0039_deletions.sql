-- Users and organizations that were deleted: what went with them, counted, and its certificate.
-- Whatever deletes one notes it here, in the same transaction. Nothing here names a user.

CREATE TABLE deletions (
  -- the uuid of the user, the id of the organization
  id uuid PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('user', 'organization')),
  -- rows of the control store that went with it, by what they were
  counts jsonb NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  -- what was removed, as JSON, and the server's Ed25519 signature of exactly that text
  certificate text,
  signature text
);
CREATE INDEX deletions_open ON deletions (requested_at) WHERE ended_at IS NULL;

-- Of a deleted project: parts that the analytics store has still to rewrite, as it said last.
ALTER TABLE removals ADD COLUMN parts_left integer;

-- What names a user without belonging to them goes too: mails to their address come from it, and
-- nobody is to write to somebody who has left.
CREATE FUNCTION note_user_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  own text := comparable_address(OLD.email);
  invited integer;
  told integer;
  delivered integer;
  managed integer;
BEGIN
  DELETE FROM invites WHERE comparable_address(target_email) = own;
  GET DIAGNOSTICS invited = ROW_COUNT;
  DELETE FROM configuration_objects WHERE kind = 'member' AND object_id = OLD.uuid::text
    OR kind = 'notice_target' AND object_id IN (SELECT id::text FROM notice_targets
      WHERE type = 'email' AND comparable_address(address) = own);
  GET DIAGNOSTICS managed = ROW_COUNT;
  DELETE FROM notice_targets WHERE type = 'email' AND comparable_address(address) = own;
  GET DIAGNOSTICS told = ROW_COUNT;
  DELETE FROM notice_deliveries WHERE comparable_address(address) = own;
  GET DIAGNOSTICS delivered = ROW_COUNT;
  INSERT INTO deletions (id, kind, counts) VALUES (OLD.uuid, 'user', jsonb_build_object(
    'memberships', (SELECT count(*) FROM members WHERE user_id = OLD.id),
    'keys', (SELECT count(*) FROM personal_api_keys WHERE user_id = OLD.id),
    'sessions', (SELECT count(*) FROM sessions WHERE user_id = OLD.id),
    'links', (SELECT count(*) FROM user_links WHERE user_id = OLD.id),
    'recovery_codes', (SELECT count(*) FROM recovery_codes WHERE user_id = OLD.id),
    'sign_in_identities', (SELECT count(*) FROM social_identities WHERE user_id = OLD.id),
    'stored_answers', (SELECT count(*) FROM idempotency_keys WHERE user_id = OLD.id),
    'bulk_actions', (SELECT count(*) FROM bulk_actions WHERE user_id = OLD.id),
    'invites_to_them', invited,
    'notice_targets', told,
    'notice_deliveries', delivered,
    'configuration_objects', managed)) ON CONFLICT DO NOTHING;
  RETURN OLD;
END $$;
CREATE TRIGGER users_deletion BEFORE DELETE ON users
  FOR EACH ROW EXECUTE FUNCTION note_user_deletion();

CREATE FUNCTION note_organization_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO deletions (id, kind, counts) SELECT OLD.id, 'organization', jsonb_build_object(
    'projects', (SELECT count(*) FROM projects WHERE organization_id = OLD.id),
    'memberships', (SELECT count(*) FROM members WHERE organization_id = OLD.id),
    'invites', (SELECT count(*) FROM invites WHERE organization_id = OLD.id),
    'domains', (SELECT count(*) FROM domains WHERE organization_id = OLD.id),
    'plugins', (SELECT count(*) FROM plugins WHERE organization_id = OLD.id),
    'exports', (SELECT count(*) FROM batch_exports export JOIN projects project
      ON project.id = export.team_id WHERE project.organization_id = OLD.id),
    'runs', (SELECT count(*) FROM batch_export_runs run JOIN projects project
      ON project.id = run.team_id WHERE project.organization_id = OLD.id))
    ON CONFLICT DO NOTHING;
  RETURN OLD;
END $$;
CREATE TRIGGER organizations_deletion BEFORE DELETE ON organizations
  FOR EACH ROW EXECUTE FUNCTION note_organization_deletion();
