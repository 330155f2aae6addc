-- Instants on the wire have six digits after the second, always: parsers of others stumble where the number of digits changes. Columns are
-- spelled by the server; here are those inside of JSON.
CREATE OR REPLACE FUNCTION wire_instant(instant timestamptz) RETURNS text LANGUAGE sql STABLE
RETURN to_char(instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

UPDATE notice_targets SET
  last_attempt = last_attempt || jsonb_build_object(
    'at', wire_instant((last_attempt ->> 'at')::timestamptz), 'next_attempt_at', wire_instant((last_attempt ->> 'next_attempt_at')::timestamptz)),
  disabled_reason = disabled_reason || jsonb_build_object('at', wire_instant((disabled_reason ->> 'at')::timestamptz))
WHERE last_attempt IS NOT NULL OR disabled_reason IS NOT NULL;
