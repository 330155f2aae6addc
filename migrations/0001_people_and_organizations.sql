-- The ground everything stands on: who there is (users, their keys), what they belong to (organizations, members) and
-- what they work on (projects). Wire names are column names, so a selected row is the resource.

-- An e-mail address as addresses are compared: the letters A to Z in lower case and nothing else folded, because PostgreSQL would make one address of two that mail
-- goes to different people for (the dotted capital I, the Kelvin sign).
CREATE FUNCTION comparable_address(address text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN lower(address COLLATE "C");

CREATE TABLE users (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid uuid NOT NULL UNIQUE,
  distinct_id text NOT NULL UNIQUE,
  first_name text NOT NULL DEFAULT '',
  last_name text NOT NULL DEFAULT '',
  email text NOT NULL,
  is_email_verified boolean NOT NULL DEFAULT false,
  is_active boolean NOT NULL DEFAULT true,
  -- argon2id, PHC string; null: this user cannot sign in with a password
  password_hash text,
  mascot_config jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
-- one account per address, however it is written
CREATE UNIQUE INDEX users_email_unique ON users (comparable_address(email));

CREATE TABLE organizations (
  id uuid PRIMARY KEY,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
  slug text NOT NULL CONSTRAINT organizations_slug_unique UNIQUE,
  plugins_access_level smallint NOT NULL DEFAULT 9 CHECK (plugins_access_level IN (0, 3, 6, 9)),
  is_member_join_email_enabled boolean NOT NULL DEFAULT true,
  enforce_2fa boolean,
  metadata jsonb NOT NULL DEFAULT '{}',
  customer_id text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE members (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
  level smallint NOT NULL CHECK (level IN (1, 8, 15)),
  joined_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT members_user_unique UNIQUE (user_id, organization_id)
);
CREATE INDEX members_by_organization ON members (organization_id, joined_at DESC);

CREATE TABLE projects (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid uuid NOT NULL UNIQUE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  -- the public ingestion token: names the project, gives no right to read
  api_token text NOT NULL CONSTRAINT projects_api_token_unique UNIQUE,
  timezone text NOT NULL DEFAULT 'UTC',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX projects_by_organization ON projects (organization_id, created_at, id);

CREATE TABLE personal_api_keys (
  id uuid PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users ON DELETE CASCADE,
  label text NOT NULL CHECK (length(label) BETWEEN 1 AND 100),
  -- HMAC-SHA-256 of the key under the server's secret; the key itself is shown once and kept nowhere
  key_hash bytea NOT NULL CONSTRAINT personal_api_keys_hash_unique UNIQUE,
  mask_value text NOT NULL,
  scopes text[] NOT NULL,
  -- null: no restriction
  scoped_organizations uuid[],
  scoped_teams integer[],
  expires_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX personal_api_keys_by_user ON personal_api_keys (user_id, created_at);

-- facts of this installation, such as the moment at which its first owner was made
CREATE TABLE server_facts (
  name text PRIMARY KEY,
  value jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
