-- Sign-ins through identity providers: those under way, what has been used up, and the way in that the operator opens when a provider is down.

-- A sign-in that a browser began. It is found by what the provider gives back (the id of a SAML request, the state of OpenID), goes on in the same browser only, and ends
-- once. Of both only the HMAC is kept. `outcome` is what a SAML response said after it was verified, until the browser fetches it.
CREATE TABLE sso_requests (
  id uuid PRIMARY KEY,
  token_hash bytea NOT NULL CONSTRAINT sso_requests_token_unique UNIQUE,
  browser_hash bytea NOT NULL,
  -- saml, or the name of an OpenID provider
  provider text NOT NULL,
  domain_id uuid REFERENCES domains ON DELETE CASCADE,
  -- HMAC of the domain's SAML settings as they were at the beginning
  settings_hash bytea,
  purpose text NOT NULL CHECK (purpose IN ('sign_in', 'test')),
  next text NOT NULL,
  outcome json,
  expires_at timestamptz NOT NULL,
  CHECK ((provider = 'saml') = (domain_id IS NOT NULL AND settings_hash IS NOT NULL))
);
CREATE INDEX sso_requests_by_domain ON sso_requests (domain_id);
CREATE INDEX sso_requests_by_expiry ON sso_requests (expires_at);

-- Assertions that were taken, as HMAC of their ids, for as long as they would be taken again.
CREATE TABLE saml_assertions (
  domain_id uuid NOT NULL REFERENCES domains ON DELETE CASCADE,
  assertion_hash bytea NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (domain_id, assertion_hash)
);
CREATE INDEX saml_assertions_by_expiry ON saml_assertions (expires_at);

-- A link that signs an administrator in although single sign-on is enforced. Works once; a new one takes the place of the one before it.
CREATE TABLE sign_in_links (
  user_id integer PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  token_hash bytea NOT NULL CONSTRAINT sign_in_links_token_unique UNIQUE,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_links_by_expiry ON sign_in_links (expires_at);

-- An address that an identity provider vouches for may be invited anywhere.
CREATE INDEX invites_by_address ON invites (comparable_address(target_email));
