import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Static } from 'typebox';
import type { DomainRow } from '../../server/api/domains/schema.ts';
import type { NewSetupLink, SetupLinkRow } from '../../server/api/domains/setup_links/schema.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';
import { Command } from '../page/command.tsx';
import { Panel } from '../page/panel.tsx';
import { Rows } from '../page/tables/rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { nameOf } from '../signed_in/member_words.ts';
import { OnlyFor, useIsOwner } from '../signed_in/only_for.tsx';
import { Instant } from '../time/instant.tsx';
import { inDays } from '../time/now.ts';

type Given = { domain: DomainRow; organization_id: string };
type NewLink = Static<typeof NewSetupLink>;

const placeOf = ({ domain, organization_id }: Given) => ({ organization_id, id: domain.id });

/** The valid links of a domain. */
function linksOf(given: Given) {
  return reading(
    pathTo('/api/organizations/:organization_id/domains/:id/setup_links/', placeOf(given)),
  );
}

/** Links for IT people without an account, who prove the domain and enter its provider. */
export function SetupLinkSection(given: Given) {
  const is_owner = useIsOwner(given.organization_id);
  return (
    <Section title="Let your IT set this up">
      <p className="muted">
        A setup link needs no account. It shows steps 1 to 4 for this domain, and nothing else of
        your organization. You confirm each entry before it takes effect.
      </p>
      <OnlyFor organization_id={given.organization_id} level={15} what="can create links">
        {is_owner && <Links {...given} />}
      </OnlyFor>
    </Section>
  );
}

function Links(given: Given) {
  const query = useQuery(linksOf(given));
  const [created, setCreated] = useState<NewLink>();
  return (
    <>
      {created?.url !== undefined && (
        <Panel key={created.id}>
          <h3>
            The link for <bdi>{created.name}</bdi>
          </h3>
          <Command text={created.url} what="the setup link" />
          <p>
            It is shown once. Send it to this person alone, because everybody who has it can use it.
          </p>
        </Panel>
      )}
      <Shown query={query}>
        {({ results }) => (
          <>
            {results.length > 0 && (
              <Rows rows={results} keyOf={({ id }) => id} columns={columnsOf(given)} />
            )}
            <Seldom summary="Create a setup link">
              <CreateLink {...given} created={setCreated} />
            </Seldom>
          </>
        )}
      </Shown>
    </>
  );
}

const columnsOf = (given: Given): Columns<SetupLinkRow> => ({
  For: ({ id, name, mask_value }) => (
    <>
      <Link
        to="/organizations/$organization_id/activity"
        params={{ organization_id: given.organization_id }}
        search={{ key: id }}
      >
        <bdi>{name}</bdi>
      </Link>{' '}
      <code>{mask_value}</code>
    </>
  ),
  'Created by': ({ created_by, created_at }) => (
    <>
      {created_by !== null && <bdi>{nameOf(created_by)}</bdi>}{' '}
      <span className="muted">
        <Instant at={created_at} />
      </span>
    </>
  ),
  Expires: ({ expires_at }) => <Instant at={expires_at} />,
  'Last used': ({ last_used_at: at }) => (at === null ? 'Not yet' : <Instant at={at} />),
  Revoke: (link) => <Revoke {...given} link={link} />,
});

function Revoke({ link: { id, name }, ...given }: Given & { link: SetupLinkRow }) {
  const done = useDone();
  return (
    <Form
      method="DELETE"
      path={pathTo('/api/organizations/:organization_id/domains/:id/setup_links/:link_id/', {
        ...placeOf(given),
        link_id: id,
      })}
      done={() => done('The link was revoked.', linksOf(given))}
      button="Revoke"
      about={`the link for ${name}`}
      tone="danger"
      asks={() => ({
        title: `Revoke the link for “${name}”?`,
        text: 'It stops working at once. You cannot restore it.',
        button: 'Revoke the link',
        keep: 'Cancel',
      })}
    />
  );
}

function CreateLink({ created, ...given }: Given & { created: (link: NewLink) => void }) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/organizations/:organization_id/domains/:id/setup_links/', placeOf(given))}
      body={({ name, expires_at }) => ({
        name,
        expires_at: inDays(expires_at),
      })}
      done={async (link) => {
        await done('The link was created.', linksOf(given));
        created(link);
      }}
      button="Create link"
      clears
    >
      <TextField
        name="name"
        label="Who gets the link"
        hint="The person's name in the activity log, such as Robin of Acme IT."
      />
      <ChoiceField
        name="expires_at"
        label="How long it works"
        value="7"
        options={[
          { value: '1', label: 'a day' },
          { value: '7', label: '7 days' },
          { value: '28', label: 'four weeks' },
        ]}
      />
    </Form>
  );
}
