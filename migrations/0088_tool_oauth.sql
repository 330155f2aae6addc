-- OAuth of tools: the application that an organization registered with a vendor, the tokens of each
-- config, and authorizations in progress. And what erasures tell tools.

CREATE TABLE oauth_applications (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  -- the folder of the tool in its package
  tool text NOT NULL,
  client_id text NOT NULL,
  -- AES-256-GCM envelope
  client_secret_sealed bytea NOT NULL,
  authorize_url text NOT NULL,
  token_url text NOT NULL,
  revoke_url text,
  scopes text NOT NULL,
  client_auth text NOT NULL CHECK (client_auth IN ('post', 'basic')),
  uses_pkce boolean NOT NULL,
  -- another number: tokens from before belong to another client or vendor
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, tool)
);

CREATE TABLE plugin_oauth_connections (
  plugin_config_id integer PRIMARY KEY REFERENCES plugin_configs ON DELETE CASCADE,
  application_id uuid NOT NULL REFERENCES oauth_applications,
  application_version integer NOT NULL,
  -- AES-256-GCM envelope of access token, refresh token, and what else the tool needs of the answer
  tokens_sealed bytea NOT NULL,
  -- what the vendor says of the account
  account text,
  scopes text,
  -- counts the tokens; a refresh replaces those that it was made with, and no others
  generation integer NOT NULL DEFAULT 1,
  expires_at timestamptz,
  -- from when on the access token is replaced
  refresh_at timestamptz,
  -- the process that refreshes; a claim that is left behind was interrupted
  refresh_claim uuid,
  refresh_until timestamptz,
  -- why the vendor gives no more tokens, as a sentence
  refused_reason text,
  refused_at timestamptz,
  connected_by integer REFERENCES users ON DELETE SET NULL,
  connected_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX plugin_oauth_connections_by_application
  ON plugin_oauth_connections (application_id);

-- A person was sent to a vendor and may come back, once.
CREATE TABLE plugin_oauth_requests (
  id uuid PRIMARY KEY,
  state_hash bytea NOT NULL UNIQUE,
  session_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
  plugin_config_id integer NOT NULL REFERENCES plugin_configs ON DELETE CASCADE,
  application_id uuid NOT NULL REFERENCES oauth_applications ON DELETE CASCADE,
  application_version integer NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX plugin_oauth_requests_by_expiry ON plugin_oauth_requests (expires_at);

-- The tools that got events of a project, and what an erasure of persons has told them.
CREATE TABLE erasure_tools (
  id uuid PRIMARY KEY,
  erasure_id uuid NOT NULL REFERENCES erasures ON DELETE CASCADE,
  -- as the config was; it may be gone
  plugin_config_id integer NOT NULL,
  name text NOT NULL,
  -- cannot: the tool has no way to be told. failed: somebody has to delete the person there
  state text NOT NULL CHECK (state IN ('waiting', 'told', 'cannot', 'failed')),
  detail text,
  -- AES-256-GCM envelope of the distinct ids; gone as soon as the state is final
  ids_sealed bytea,
  ids integer NOT NULL,
  -- of them: how many it was told of
  told integer NOT NULL DEFAULT 0,
  -- of them: done, in their order
  done integer NOT NULL DEFAULT 0,
  -- of them: how many it refused
  failed integer NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  told_at timestamptz,
  UNIQUE (erasure_id, plugin_config_id)
);
CREATE INDEX erasure_tools_waiting ON erasure_tools (plugin_config_id) WHERE state = 'waiting';
