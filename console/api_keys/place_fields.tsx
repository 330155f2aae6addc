import { useQuery } from '@tanstack/react-query';
import { ChoicesField } from '../form/fields.tsx';
import { organizations } from '../signed_in/organizations.ts';
import { projectChoices } from './key_limits.ts';

/** Fields for the organizations and projects of a key. */
export function PlaceFields() {
  const known = useQuery(organizations).data?.results ?? [];
  const projects = projectChoices(known);
  return (
    <>
      {known.length > 0 && (
        <ChoicesField
          name="scoped_organizations"
          label="Only in these organizations (if empty, in all of yours)"
          options={known.map(({ id, name }) => ({ value: id, label: name }))}
        />
      )}
      {projects.length > 0 && (
        <ChoicesField
          name="scoped_teams"
          label="Only in these projects (if empty, in all)"
          options={projects}
        />
      )}
    </>
  );
}
