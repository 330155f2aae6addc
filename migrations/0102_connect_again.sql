-- A notice tells once that a person has to connect a tool again.
ALTER TABLE plugin_cursors ADD COLUMN told_disconnected_at timestamptz;

-- Until now `failing` told of it: targets that took that take the new one too.
UPDATE notice_targets SET events = events || '{disconnected}'::text[]
WHERE 'failing' = ANY (events) AND NOT 'disconnected' = ANY (events);
