-- What a plugin says of its settings and its code is any JSON but null, which a PATCH could once store, and which broke its configs.
UPDATE plugins SET config_schema = '[]' WHERE json_typeof(config_schema) = 'null';
UPDATE plugins SET capabilities = '{"methods":[],"jobs":[],"scheduled_tasks":[]}' WHERE json_typeof(capabilities) = 'null';
UPDATE plugins SET metrics = '{}' WHERE json_typeof(metrics) = 'null';
UPDATE plugins SET public_jobs = '{}' WHERE json_typeof(public_jobs) = 'null';
