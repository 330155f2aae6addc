-- A recovery code has 50 random bits, so an HMAC alone gives it away to whoever has the store and
-- the server's key. New codes are kept as argon2id of that HMAC, and `code_hash` has the first byte
-- of the HMAC, by which the one code is found that may be meant: a try costs one argon2id. Codes
-- from before have the whole HMAC there and no argon2id; they work until they are used or replaced.
-- Processes of the release before refuse new codes and go on to take theirs.

ALTER TABLE recovery_codes ADD COLUMN argon2id text;

-- The addresses and networks from which alone a personal API key is taken; empty: from anywhere.
-- Processes of the release before take such a key from anywhere.
ALTER TABLE personal_api_keys ADD COLUMN allowed_ip_ranges text[] NOT NULL DEFAULT '{}';
