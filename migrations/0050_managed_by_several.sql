-- A person may be a member of several organizations, and each of them may manage that: with one row
-- for both, the second one wrote into the row of the first. An apply that is asked of a process of
-- before meanwhile fails as a whole and changes nothing.
ALTER TABLE configuration_objects
  DROP CONSTRAINT configuration_objects_pkey,
  ADD CONSTRAINT configuration_objects_pkey PRIMARY KEY (organization_id, kind, object_id);
CREATE INDEX configuration_objects_by_object ON configuration_objects (kind, object_id);
DROP INDEX configuration_objects_by_organization;
