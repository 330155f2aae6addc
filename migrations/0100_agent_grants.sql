-- An assistant signs in by a browser (OAuth 2.1). A person's grant is a personal API key that works
-- at one address alone, and whose value changes each hour. So everything that ends or limits a key
-- ends or limits a grant too. Processes of the release before refuse its tokens by their form.

ALTER TABLE personal_api_keys
  -- the one address that it is a token for (RFC 8707); null: a key of the whole API
  ADD COLUMN resource text,
  -- until when the present token counts; a refresh brings the next one, until expires_at
  ADD COLUMN token_expires_at timestamptz;

CREATE TABLE agent_grants (
  -- what deletes the key ends the grant
  key_id uuid PRIMARY KEY REFERENCES personal_api_keys ON DELETE CASCADE,
  -- HMAC of the client's id
  client_hash bytea NOT NULL,
  -- where the document lies that describes the client; null: it registered itself
  client_host text,
  redirect_uri text NOT NULL,
  -- its host, as people read it
  returns_to text NOT NULL,
  -- HMAC of the authorization code, kept so that a second use is noticed
  code_hash bytea NOT NULL CONSTRAINT agent_grants_code_unique UNIQUE,
  code_challenge text NOT NULL,
  code_expires_at timestamptz NOT NULL,
  -- HMAC of the present refresh token; null: the code was not used yet
  refresh_hash bytea
);
CREATE INDEX agent_grants_unused ON agent_grants (code_expires_at) WHERE refresh_hash IS NULL;
