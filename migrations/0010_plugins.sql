-- Plugins: packages that people install into an organization (plugins, with the versions of their code), what projects make of them (configs), and what a running plugin
-- keeps and says (cursors, storage, cache, jobs, logs).

CREATE TABLE plugins (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  -- the collection in which it was made; nothing moves it
  collection text NOT NULL CHECK (collection IN ('pipeline_destinations', 'pipeline_frontend_apps', 'pipeline_import_apps')),
  plugin_type text NOT NULL CHECK (plugin_type IN ('local', 'custom', 'repository', 'source', 'inline')),
  name text,
  description text,
  -- without its query part, which may hold a token
  url text,
  -- what its origin is opened with, the token included: AES-256-GCM envelope; null: it has no origin, its code is written through the API
  origin bytea,
  icon text,
  -- json and not jsonb: the order of fields is that of the form
  config_schema json NOT NULL DEFAULT '[]',
  tag text,
  latest_tag text,
  latest_tag_checked_at timestamptz,
  is_global boolean NOT NULL DEFAULT false,
  capabilities json NOT NULL DEFAULT '{"methods":[],"jobs":[],"scheduled_tasks":[]}',
  metrics json NOT NULL DEFAULT '{}',
  public_jobs json NOT NULL DEFAULT '{}',
  -- null: it has no code yet
  version_id uuid,
  -- what a rollback goes back to
  previous_version_id uuid,
  created_by integer REFERENCES users ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX plugins_by_organization ON plugins (organization_id, collection, id DESC);
CREATE INDEX plugins_global ON plugins (collection, id DESC) WHERE is_global;
CREATE UNIQUE INDEX plugins_url_unique ON plugins (organization_id, url) WHERE url IS NOT NULL;

-- Code as it was installed. A row never changes; its plugin keeps the present one and the one before it.
CREATE TABLE plugin_versions (
  id uuid PRIMARY KEY,
  plugin_id integer NOT NULL REFERENCES plugins ON DELETE CASCADE,
  tag text,
  -- file name -> text
  files json NOT NULL,
  content_sha256 text NOT NULL,
  -- what its plugin.json says; null: it has none
  manifest json,
  -- what was compiled from the files: server, site, frontend
  code json NOT NULL,
  code_sha256 text NOT NULL,
  capabilities json NOT NULL,
  metrics json NOT NULL,
  public_jobs json NOT NULL,
  -- HMAC under the server's secret over everything above: who can write to this table alone cannot make the server load his code
  seal bytea NOT NULL,
  installed_by integer REFERENCES users ON DELETE SET NULL,
  installed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX plugin_versions_by_plugin ON plugin_versions (plugin_id);
ALTER TABLE plugins ADD FOREIGN KEY (version_id) REFERENCES plugin_versions, ADD FOREIGN KEY (previous_version_id) REFERENCES plugin_versions;

-- A plugin as one project uses it.
CREATE TABLE plugin_configs (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  plugin_id integer NOT NULL REFERENCES plugins ON DELETE CASCADE,
  enabled boolean NOT NULL DEFAULT false,
  "order" integer NOT NULL DEFAULT 0,
  -- the keys that may be shown
  config json NOT NULL DEFAULT '{}',
  -- the keys whose fields are secret: AES-256-GCM envelope, see server/engine/plugins/stored_config.ts
  config_secrets bytea,
  -- names of those keys
  secret_keys text[] NOT NULL DEFAULT '{}',
  -- hosts that the plugin's fetch may reach
  allowed_hosts text[] NOT NULL DEFAULT '{}',
  -- why it was stopped, or what its settings lack since an upgrade; null: nothing is wrong
  error text,
  error_at timestamptz,
  created_by integer REFERENCES users ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX plugin_configs_by_project ON plugin_configs (team_id, "order", id);
CREATE INDEX plugin_configs_by_plugin ON plugin_configs (plugin_id);
CREATE INDEX plugin_configs_enabled ON plugin_configs (plugin_id) WHERE enabled;

-- How far an enabled config has come. Apart from the config, because it changes all the time.
CREATE TABLE plugin_cursors (
  plugin_config_id integer PRIMARY KEY REFERENCES plugin_configs ON DELETE CASCADE,
  -- events up to this insertion and uuid are done; set to the present when the config is enabled
  inserted_at timestamptz NOT NULL DEFAULT now(),
  event_uuid uuid,
  -- failures in a row; a success sets it back
  failures integer NOT NULL DEFAULT 0,
  -- where they began, when events were passed over: a stop goes back to it
  series_inserted_at timestamptz,
  series_event_uuid uuid,
  retry_at timestamptz,
  -- when the server stopped it; the next start goes on where it stood
  stopped_at timestamptz,
  -- the claim of the worker that has it, until when
  leased_by uuid,
  leased_until timestamptz,
  -- name of a scheduled task -> start of the last period in which it ran
  scheduled jsonb NOT NULL DEFAULT '{}',
  -- who was served longest ago comes first
  served_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- What a plugin keeps for good.
CREATE TABLE plugin_storage (
  plugin_config_id integer NOT NULL REFERENCES plugin_configs ON DELETE CASCADE,
  key text NOT NULL,
  value json NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (plugin_config_id, key)
);

-- What a plugin keeps for a while. Unlogged: after a crash of the database it is empty, which a cache may be.
CREATE UNLOGGED TABLE plugin_cache (
  plugin_config_id integer NOT NULL REFERENCES plugin_configs ON DELETE CASCADE,
  key text NOT NULL,
  value json NOT NULL,
  expires_at timestamptz,
  written_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (plugin_config_id, key)
);
CREATE INDEX plugin_cache_expiring ON plugin_cache (expires_at) WHERE expires_at IS NOT NULL;

-- Jobs that a plugin has asked for.
CREATE TABLE plugin_jobs (
  id uuid PRIMARY KEY,
  plugin_config_id integer NOT NULL REFERENCES plugin_configs ON DELETE CASCADE,
  name text NOT NULL,
  payload json NOT NULL,
  run_at timestamptz NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX plugin_jobs_by_config ON plugin_jobs (plugin_config_id, run_at, id);

CREATE TABLE plugin_logs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  plugin_config_id integer NOT NULL REFERENCES plugin_configs ON DELETE CASCADE,
  "timestamp" timestamptz NOT NULL DEFAULT clock_timestamp(),
  level text NOT NULL CHECK (level IN ('DEBUG', 'INFO', 'WARNING', 'ERROR')),
  message text NOT NULL
);
CREATE INDEX plugin_logs_by_config ON plugin_logs (plugin_config_id, id DESC);

-- Under which web pages load the site apps of a project; random, and another one on request.
ALTER TABLE projects ADD COLUMN site_token text NOT NULL DEFAULT 'slw_' || replace(gen_random_uuid()::text, '-', '') CONSTRAINT projects_site_token_unique UNIQUE;
