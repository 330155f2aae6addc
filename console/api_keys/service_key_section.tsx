import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Static } from 'typebox';
import type { NewServiceKey, ServiceKeyRow } from '../../server/api/service_keys/schema.ts';
import { Form } from '../form/form.tsx';
import { RollForm } from '../form/roll_form.tsx';
import { pathTo } from '../http/path.ts';
import { Empty } from '../page/empty.tsx';
import { Rows } from '../page/tables/rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { levelWord, nameOf } from '../signed_in/member_words.ts';
import { organizations } from '../signed_in/organizations.ts';
import { Instant } from '../time/instant.tsx';
import { now } from '../time/now.ts';
import { serviceKeys } from './api_keys.ts';
import { CreatedKey, LastUse, overlaps } from './key_parts.tsx';
import { scopesInWords } from './scope_names.ts';
import { CreateServiceKey } from './service_key_form.tsx';

type NewKey = Static<typeof NewServiceKey>;
type Given = { organization_id: string };

/** The organization's own keys, which stay after their creators have left. */
export function ServiceKeySection({ organization_id }: Given) {
  const query = useQuery(serviceKeys(organization_id));
  const { data } = useQuery(organizations);
  const projects = data?.results.flatMap(({ teams }) => teams) ?? [];
  const [created, setCreated] = useState<NewKey>();
  return (
    <Section title="Service keys" is_wide>
      <p className="muted">
        A service key belongs to the organization. It keeps working, with the same rights, after the
        person who created it has left. Use one for each program.
      </p>
      {created?.value !== undefined && (
        <CreatedKey
          key={created.id}
          title="The service key"
          name={created.name}
          value={created.value}
        />
      )}
      <Shown query={query}>
        {({ count, results }) => (
          <>
            {count === 0 ? (
              <Empty title="No service keys">
                Create one for each program that uses the API: a loader, a pipeline, a check.
              </Empty>
            ) : (
              <Rows
                rows={results}
                keyOf={({ id }) => id}
                columns={{
                  ...columnsOf(organization_id, projects),
                  Change: (key) => (
                    <ChangeKey
                      organization_id={organization_id}
                      service_key={key}
                      created={setCreated}
                    />
                  ),
                }}
              />
            )}
            <Seldom summary="Create a service key" is_open={count === 0}>
              <CreateServiceKey organization_id={organization_id} created={setCreated} />
            </Seldom>
          </>
        )}
      </Shown>
    </Section>
  );
}

type RowGiven = Given & { service_key: ServiceKeyRow; created: (key: NewKey) => void };

const columnsOf = (
  organization_id: string,
  projects: { id: number; name: string }[],
): Columns<ServiceKeyRow> => ({
  Key: ({ id, name, mask_value }) => (
    <>
      <Link
        to="/organizations/$organization_id/activity"
        params={{ organization_id }}
        search={{ key: id }}
      >
        <bdi>{name}</bdi>
      </Link>{' '}
      <code>{mask_value}</code>
    </>
  ),
  'Created by': { long: (key) => <Creator service_key={key} /> },
  May: { long: ({ level, scopes }) => `${levelWord(level)}: ${scopesInWords(scopes)}` },
  Projects: {
    long: ({ scoped_teams, allowed_ip_ranges: ranges }) => {
      const names = scoped_teams.map((one) => projects.find(({ id }) => id === one)?.name ?? one);
      const all = names.length === 0 ? 'All' : names.join(', ');
      return ranges.length > 0 ? `${all}, only from ${ranges.join(', ')}` : all;
    },
  },
  'Last used': (key) => <LastUse api_key={key} is_column />,
  Expires: ({ expires_at }) => <Expiry expires_at={expires_at} />,
});

function Creator({ service_key }: { service_key: ServiceKeyRow }) {
  const { created_by, created_at, is_creator_administrator } = service_key;
  return (
    <>
      {created_by === null ? 'A deleted account' : <bdi>{nameOf(created_by)}</bdi>}{' '}
      <span className="muted">
        <Instant at={created_at} />
      </span>
      {!is_creator_administrator && (
        <>
          <br />
          <span className="warn">Creator is no administrator: rotate the key</span>
        </>
      )}
    </>
  );
}

function Expiry({ expires_at }: { expires_at: string | null }) {
  if (expires_at === null) return <span className="warn">Never</span>;
  const is_expired = Date.parse(expires_at) <= now();
  return (
    <span className={is_expired ? 'bad' : ''}>
      {is_expired && 'Expired '}
      <Instant at={expires_at} />
    </span>
  );
}

function ChangeKey({ organization_id, service_key: { id, name }, created }: RowGiven) {
  const done = useDone();
  const place = { organization_id, id };
  return (
    <>
      <RollForm
        path={pathTo('/api/organizations/:organization_id/service_keys/:id/roll/', place)}
        name={name}
        overlaps={overlaps}
        usual_seconds={86_400}
        rolled={async (key) => {
          await done('The service key was rotated.', serviceKeys(organization_id));
          created(key);
        }}
      />
      <Form
        method="DELETE"
        path={pathTo('/api/organizations/:organization_id/service_keys/:id/', place)}
        done={() => done('The service key was revoked.', serviceKeys(organization_id))}
        button="Revoke"
        about={`the service key ${name}`}
        tone="danger"
        asks={() => ({
          title: `Revoke the service key “${name}”?`,
          text: 'Programs that use it stop working at once. You cannot restore it.',
          button: 'Revoke key',
          keep: 'Keep key',
        })}
      />
    </>
  );
}
