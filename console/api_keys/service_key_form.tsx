import { useQuery } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { NewServiceKey } from '../../server/api/service_keys/schema.ts';
import { ChoiceField, ChoicesField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { pathTo } from '../http/path.ts';
import { useDone } from '../page/section.tsx';
import { levelChoices } from '../signed_in/member_words.ts';
import { organizations } from '../signed_in/organizations.ts';
import { serviceKeys } from './api_keys.ts';
import { projectChoices } from './key_limits.ts';
import { BoundFields, expiryOf, rangesOf } from './key_parts.tsx';
import { service_scope_choices } from './scope_names.ts';

/** Creates a service key; the API asks for a confirmation of the person's identity. */
export function CreateServiceKey({
  organization_id,
  created,
}: {
  organization_id: string;
  created: (key: Static<typeof NewServiceKey>) => void;
}) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/organizations/:organization_id/service_keys/', { organization_id })}
      body={({ name, scopes, level, scoped_teams = [], allowed_ip_ranges, expires_at }) => ({
        name,
        scopes,
        level: level === '8' ? (8 as const) : (1 as const),
        scoped_teams: [scoped_teams].flat().map(Number),
        allowed_ip_ranges: rangesOf(allowed_ip_ranges),
        expires_at: expiryOf(expires_at),
      })}
      done={async (key) => {
        await done('The service key was created.', serviceKeys(organization_id));
        created(key);
      }}
      button="Create service key"
      clears
    >
      <RightFields organization_id={organization_id} />
    </Form>
  );
}

/** Fields for the rights, projects and lifetime of the key. */
function RightFields({ organization_id }: { organization_id: string }) {
  const known = useQuery(organizations).data?.results ?? [];
  const projects = projectChoices(known.filter(({ id }) => id === organization_id));
  return (
    <>
      <TextField
        name="name"
        label="Name of the key"
        hint="The program that uses it. Changes in the activity log carry this name."
      />
      <ChoiceField name="level" label="Level" value="1" options={levelChoices(8)} />
      <ChoicesField name="scopes" label="Scopes" one="scope" options={service_scope_choices} />
      {projects.length > 0 && (
        <ChoicesField
          name="scoped_teams"
          label="Only in these projects (if empty, in all)"
          options={projects}
        />
      )}
      <BoundFields
        days="365"
        choices={[
          ['90', '90 days'],
          ['365', 'a year'],
          ['730', 'two years'],
        ]}
      />
    </>
  );
}
