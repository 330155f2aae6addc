-- Distinct ids that are one person. Whom a distinct id belongs to stands in the rows of `persons`
-- itself, because one insert is one block: a merge, the person that goes and the one that stays
-- appear together or not at all. Rows of before say what they said: a person for each distinct id.
ALTER TABLE persons
  -- the distinct id of the person that this one became a part of; empty while it is one of its own
  ADD COLUMN IF NOT EXISTS merged_into String DEFAULT '',
  -- the id of the person that the distinct id belongs to
  ADD COLUMN IF NOT EXISTS belongs_to UUID DEFAULT person_id,
  ADD COLUMN IF NOT EXISTS is_identified UInt8 DEFAULT 0;

-- Whom distinct ids belong to, a row per change: the first version of a person, and each merge.
CREATE VIEW IF NOT EXISTS person_distinct_ids AS
SELECT team_id, distinct_id, belongs_to AS person_id, person_distinct_id_version AS version,
  toUInt8(0) AS is_deleted, inserted_at
FROM persons WHERE person_version = 1 OR merged_into != '';
