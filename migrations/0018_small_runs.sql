-- A run of few rows is nearly all waiting and statements, which it can share with others: a worker takes several for one place (docs/decisions/0027).

-- true: it was looked at before anybody took it and selects few rows
ALTER TABLE batch_export_runs ADD COLUMN is_small boolean NOT NULL DEFAULT false;
