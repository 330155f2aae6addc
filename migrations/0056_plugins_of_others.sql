-- An organization could publish a plugin to all others and change its code afterwards: the new code
-- ran in their projects within seconds. From now on a config of another organization's plugin runs
-- the version that it was enabled with, until somebody of its own organization accepts a newer one;
-- and publishing to all is a right that the operator gives.

ALTER TABLE plugin_configs
  -- of a plugin of another organization: the version that runs, and the fields of its settings.
  -- null: the plugin's present version runs
  ADD COLUMN accepted_version_id uuid REFERENCES plugin_versions,
  ADD COLUMN accepted_config_schema json;
CREATE INDEX plugin_configs_by_accepted_version ON plugin_configs (accepted_version_id)
  WHERE accepted_version_id IS NOT NULL;

-- A trigger, so that no process, one of the release before either, enables a stranger's plugin
-- without this. Whoever enables holds the plugin (FOR SHARE).
CREATE FUNCTION accept_enabled_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT p.version_id, p.config_schema INTO NEW.accepted_version_id, NEW.accepted_config_schema
    FROM plugins p JOIN projects t ON t.id = NEW.team_id
    WHERE p.id = NEW.plugin_id AND p.organization_id <> t.organization_id;
  RETURN NEW;
END $$;
CREATE TRIGGER plugin_configs_accept_enabled BEFORE INSERT OR UPDATE OF enabled ON plugin_configs
  FOR EACH ROW WHEN (NEW.enabled AND NEW.accepted_version_id IS NULL)
  EXECUTE FUNCTION accept_enabled_version();

-- A process of the release before removes old versions without a look at the configs. When the
-- plugin itself goes, its versions and configs go with it.
CREATE FUNCTION keep_accepted_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM plugin_configs WHERE accepted_version_id = OLD.id)
    AND EXISTS (SELECT 1 FROM plugins WHERE id = OLD.plugin_id)
  THEN RETURN NULL;
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER plugin_versions_keep_accepted BEFORE DELETE ON plugin_versions
  FOR EACH ROW EXECUTE FUNCTION keep_accepted_version();

-- What runs now, or ran before it was disabled or stopped, counts as accepted.
UPDATE plugin_configs c
  SET accepted_version_id = p.version_id, accepted_config_schema = p.config_schema
  FROM plugins p, projects t
  WHERE p.id = c.plugin_id AND t.id = c.team_id AND p.organization_id <> t.organization_id
    AND p.version_id IS NOT NULL
    AND (c.enabled OR EXISTS (SELECT 1 FROM plugin_cursors k WHERE k.plugin_config_id = c.id));

-- 9 was the default, not a decision. It stays with the oldest organization, which the first start
-- created, and with those that have published a plugin; others install and write as before.
ALTER TABLE organizations ALTER COLUMN plugins_access_level SET DEFAULT 6;
UPDATE organizations o SET plugins_access_level = 6
  WHERE o.plugins_access_level = 9
    AND o.id <> (SELECT id FROM organizations ORDER BY created_at, id LIMIT 1)
    AND NOT EXISTS (SELECT 1 FROM plugins p WHERE p.organization_id = o.id AND p.is_global);
