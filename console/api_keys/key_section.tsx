import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Static } from 'typebox';
import type { ApiKeyRow, NewApiKey } from '../../server/api/api_keys/schema.ts';
import { organizations } from '../signed_in/organizations.ts';
import { ChoicesField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { RollForm } from '../form/roll_form.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { now } from '../time/now.ts';
import { api_keys } from './api_keys.ts';
import { BoundFields, CreatedKey, LastUse, expiryOf, overlaps, rangesOf } from './key_parts.tsx';
import { whereItWorks } from './key_limits.ts';
import { PlaceFields } from './place_fields.tsx';
import { scope_choices, scopesInWords } from './scope_names.ts';
import { pathTo } from '../http/path.ts';

type NewKey = Static<typeof NewApiKey>;

/**
 * The assistants to which the person gave access, each with a button that revokes it; nothing if
 * there are none.
 */
export function AssistantSection() {
  const grants = useQuery(api_keys).data?.results.filter(({ agent }) => agent !== null) ?? [];
  if (grants.length === 0) return null;
  return (
    <Section title="Assistants">
      <p>These programs act in your name. You gave each of them access in the browser.</p>
      <ul className="records">
        {grants.map((key) => (
          <Key key={key.id} api_key={key} />
        ))}
      </ul>
    </Section>
  );
}

/** The person's API keys, each with a button that revokes it, and a form that creates one. */
export function KeySection() {
  const query = useQuery(api_keys);
  const [created, setCreated] = useState<NewKey>();
  return (
    <Section title="Personal API keys">
      {created?.value !== undefined && (
        <CreatedKey key={created.id} title="Your key" name={created.label} value={created.value} />
      )}
      <Shown query={query}>
        {({ count, results }) => (
          <>
            {results.every(({ agent }) => agent !== null) && <p>You have no keys.</p>}
            <ul className="records">
              {results
                .filter(({ agent }) => agent === null)
                .map((key) => (
                  <Key key={key.id} api_key={key} created={setCreated} />
                ))}
            </ul>
            {count > results.length && (
              <p>
                The newest {results.length} of {count} are shown.
              </p>
            )}
          </>
        )}
      </Shown>
      <Seldom summary="Create a key">
        <CreateKey created={setCreated} />
      </Seldom>
    </Section>
  );
}

type Creating = { created: (key: NewKey) => void };

function CreateKey({ created }: Creating) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/personal_api_keys/')}
      body={({
        label,
        scopes,
        expires_at,
        scoped_organizations = [],
        scoped_teams = [],
        allowed_ip_ranges = '',
      }) => ({
        label,
        scopes,
        allowed_ip_ranges: rangesOf(allowed_ip_ranges),
        scoped_organizations: [scoped_organizations].flat(),
        scoped_teams: [scoped_teams].flat().map(Number),
        expires_at: expiryOf(expires_at),
      })}
      done={async (key) => {
        await done('The key was created.', api_keys);
        created(key);
      }}
      button="Create the key"
      clears
    >
      <TextField name="label" label="Name of the key" />
      <ChoicesField name="scopes" label="Scopes" one="scope" options={scope_choices} />
      <PlaceFields />
      <BoundFields
        days="90"
        choices={[
          ['30', '30 days'],
          ['90', '90 days'],
          ['365', 'a year'],
        ]}
      />
    </Form>
  );
}

function Key({ api_key, created }: { api_key: ApiKeyRow } & Partial<Creating>) {
  const { id, label, agent } = api_key;
  const what = agent === null ? 'key' : 'access';
  const done = useDone();
  return (
    <li>
      <div>
        <KeyWords api_key={api_key} />
        {created !== undefined && (
          <RollForm
            path={pathTo('/api/personal_api_keys/:id/roll/', { id })}
            name={label}
            overlaps={overlaps}
            usual_seconds={86_400}
            rolled={async (key) => {
              await done('The key was rotated.', api_keys);
              created(key);
            }}
          />
        )}
      </div>
      <Form
        method="DELETE"
        path={pathTo('/api/personal_api_keys/:id/', { id })}
        done={() => done(`The ${what} was revoked.`, api_keys)}
        button="Revoke"
        about={agent === null ? `the key ${label}` : `the access of ${label}`}
        tone="danger"
        asks={() => ({
          title: agent === null ? `Revoke the key “${label}”?` : `Revoke the access of “${label}”?`,
          text: 'Programs that use it stop working at once. You cannot restore it.',
          button: `Revoke the ${what}`,
          keep: `Keep the ${what}`,
        })}
      />
    </li>
  );
}

/** The name of a key or assistant, its access, and its creation time. */
function KeyWords({ api_key }: { api_key: ApiKeyRow }) {
  const { label, mask_value, scopes, expires_at, created_at, agent } = api_key;
  const { data } = useQuery(organizations);
  return (
    <>
      <p>
        <bdi>{label}</bdi> <code>{mask_value}</code>
      </p>
      {agent !== null && (
        <p className="muted">
          {agent.client_host === null
            ? 'It chose this name itself'
            : `The name comes from ${agent.client_host}`}
          . It signed in from {agent.returns_to}.
        </p>
      )}
      <p className="muted">
        {scopesInWords(scopes)}
        {data !== undefined && (
          <>
            , <bdi>{whereItWorks(api_key, data.results)}</bdi>
          </>
        )}
      </p>
      <p className="muted">
        Created <Instant at={created_at} />,{' '}
        {expires_at === null ? (
          'works until it is revoked'
        ) : (
          <>
            {Date.parse(expires_at) <= now() ? 'worked' : 'works'} until{' '}
            <Instant at={expires_at} is_exact />
          </>
        )}
        , <LastUse api_key={api_key} />
      </p>
    </>
  );
}
