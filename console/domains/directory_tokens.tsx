import { useQuery } from '@tanstack/react-query';
import type { NewTokenRow, TokenRow } from '../../server/api/scim/schema.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { useIsOwner } from '../signed_in/only_for.tsx';
import { nameOf } from '../signed_in/member_words.ts';
import { Rows } from '../page/tables/rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { inDays, now } from '../time/now.ts';
import { directoryOf, tokensOf } from './directory.ts';
import { pathTo } from '../http/path.ts';

type Given = { organization_id: string; domain_id: string };

/** The tokens of the directory, each with its end and a button that revokes it. */
export function DirectoryTokens(given: Given) {
  const query = useQuery(tokensOf(given.organization_id, given.domain_id));
  const may_change = useIsOwner(given.organization_id);
  return (
    <Shown query={query}>
      {({ count, results }) =>
        count === 0 ? (
          <p className="warn">The directory has no token, so the server refuses it.</p>
        ) : (
          <Rows<TokenRow>
            rows={results}
            keyOf={({ id }) => id}
            columns={{
              ...columns,
              ...(may_change && { Revoke: (token) => <Revoke {...given} token={token} /> }),
            }}
          />
        )
      }
    </Shown>
  );
}

const columns: Columns<TokenRow> = {
  Token: ({ name, mask_value }) => (
    <>
      <bdi>{name}</bdi> <code>{mask_value}</code>
    </>
  ),
  'Created by': ({ created_by, created_at }) => (
    <>
      {created_by === null ? (
        <span className="warn">Not known</span>
      ) : (
        <bdi>{nameOf(created_by)}</bdi>
      )}{' '}
      <span className="muted">
        <Instant at={created_at} />
      </span>
    </>
  ),
  Expires: ({ expires_at }) => {
    const is_expired = Date.parse(expires_at) <= now();
    return (
      <span className={is_expired ? 'bad' : ''}>
        {is_expired && 'Expired '}
        <Instant at={expires_at} />
      </span>
    );
  },
  'Last used': ({ last_used_at: at }) =>
    at === null ? <span className="muted">Not yet</span> : <Instant at={at} />,
};

function Revoke({ organization_id, domain_id, token: { id, name } }: Given & { token: TokenRow }) {
  const done = useDone();
  return (
    <Form
      method="DELETE"
      path={pathTo('/api/organizations/:organization_id/domains/:id/scim/tokens/:token_id/', {
        organization_id,
        id: domain_id,
        token_id: id,
      })}
      done={() =>
        done(
          'The token was revoked.',
          tokensOf(organization_id, domain_id),
          directoryOf(organization_id, domain_id),
        )
      }
      button="Revoke"
      about={`the token ${name}`}
      tone="danger"
      asks={() => ({
        title: `Revoke the token “${name}”?`,
        text: 'The server then refuses a directory that still uses it. Members stay members.',
        button: 'Revoke token',
        keep: 'Keep token',
      })}
    />
  );
}

/** Creates a token, which switches the directory on. */
export function CreateToken({
  organization_id,
  domain_id,
  created,
}: Given & { created: (token: NewTokenRow) => void }) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/organizations/:organization_id/domains/:id/scim/tokens/', {
        organization_id,
        id: domain_id,
      })}
      body={({ name, days }) => ({
        name,
        expires_at: inDays(days),
      })}
      done={async (token) => {
        created(token);
        await done(
          'The token was created.',
          tokensOf(organization_id, domain_id),
          directoryOf(organization_id, domain_id),
        );
      }}
      button="Create token"
      clears
    >
      <TextField name="name" label="Name" hint="Where it is used, such as Okta." />
      <ChoiceField
        name="days"
        label="Expires in"
        value="365"
        options={[
          { value: '90', label: '90 days' },
          { value: '365', label: '1 year' },
          { value: '730', label: '2 years' },
        ]}
      />
    </Form>
  );
}
