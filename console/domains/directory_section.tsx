import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { DomainRow } from '../../server/api/domains/schema.ts';
import type { DirectoryRow, NewTokenRow } from '../../server/api/scim/schema.ts';
import { Form } from '../form/form.tsx';
import { OnlyFor } from '../members/only_for.tsx';
import { Command } from '../page/command.tsx';
import { Panel } from '../page/panel.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { directoryOf, directoryPath } from './directory.ts';
import { DirectoryGroups } from './directory_groups.tsx';

type Given = { domain: DomainRow; organization_id: string };

/** The directory of the company, which says who is a member. */
export function DirectorySection(given: Given) {
  const { domain, organization_id } = given;
  const query = useQuery(directoryOf(organization_id, domain.id));
  const [created, setCreated] = useState<NewTokenRow>();
  return (
    <Section title="Provisioning (SCIM)">
      <p>
        Your directory (Okta, Entra ID and others) can say who is a member: who joins the company is
        here before the first sign-in, and who leaves it is taken out, with every key.
      </p>
      {created?.token !== undefined && <Token key={created.token} token={created.token} />}
      <Shown query={query}>
        {(directory) =>
          directory.is_on ? (
            <On {...given} directory={directory} created={setCreated} />
          ) : domain.is_verified ? (
            <OnlyFor organization_id={organization_id}>
              <CreateToken {...given} created={setCreated} />
            </OnlyFor>
          ) : (
            <p className="muted">It can be switched on once the domain is verified.</p>
          )
        }
      </Shown>
    </Section>
  );
}

function Token({ token }: { token: string }) {
  return (
    <Panel>
      <h3>The token of the directory</h3>
      <p>It is not shown again. Your directory sends it as a bearer token.</p>
      <Command text={token} what="the token of the directory" />
    </Panel>
  );
}

type Created = { created: (token: NewTokenRow | undefined) => void };

/** Creates the first token, or another one in place of the present one. */
function CreateToken({
  domain,
  organization_id,
  created,
  is_another = false,
}: Given & Created & { is_another?: boolean }) {
  const done = useDone();
  const question = {
    title: 'Create a new token for the directory?',
    text: 'The present one ends at once: the directory is refused until it has the new one.',
    button: 'Create the new token',
    keep: 'Keep the present one',
  };
  return (
    <Form<NewTokenRow>
      path={`${directoryPath(organization_id, domain.id)}token/`}
      done={async (token) => {
        created(token);
        await done('The token was created.', directoryOf(organization_id, domain.id));
      }}
      button={is_another ? 'Create a new token' : 'Create the token'}
      {...(is_another ? { tone: 'plain' as const } : {})}
      asks={() => (is_another ? question : undefined)}
    />
  );
}

function On({ directory, ...given }: Given & Created & { directory: DirectoryRow }) {
  const { domain, organization_id } = given;
  const { base_url, mask_value, token_created_at, last_used_at } = directory;
  return (
    <>
      {!domain.is_verified && (
        <p className="bad">
          The domain is not verified at present, so what the directory says is refused.
        </p>
      )}
      <p>Give your directory this base URL, with the token:</p>
      <Command text={base_url} what="the base URL" />
      <p>
        {last_used_at === null ? (
          <span className="warn">The directory has not asked for anything yet.</span>
        ) : (
          <>
            The directory last asked <Instant at={last_used_at} />.
          </>
        )}{' '}
        {people(directory)}
      </p>
      <p className="muted">
        Token <code>{mask_value}</code>, created{' '}
        {token_created_at !== null && <Instant at={token_created_at} />}
      </p>
      <DirectoryGroups
        directory={directory}
        organization_id={organization_id}
        domain_id={domain.id}
      />
      <OnlyFor organization_id={organization_id}>
        <Seldom summary="Another token, or none">
          <CreateToken {...given} is_another />
          <p>Without a directory, members stay as they are.</p>
          <SwitchOff {...given} />
        </Seldom>
      </OnlyFor>
    </>
  );
}

function people({ active_people, deactivated_people }: DirectoryRow): string {
  const active = active_people.toLocaleString('en');
  const members = active_people === 1 ? 'It sees 1 member' : `It sees ${active} members`;
  return deactivated_people === 0
    ? `${members}, and has deactivated nobody.`
    : `${members}, and has deactivated ${deactivated_people.toLocaleString('en')}.`;
}

function SwitchOff({ domain, organization_id, created }: Given & Created) {
  const done = useDone();
  return (
    <Form
      method="DELETE"
      path={directoryPath(organization_id, domain.id)}
      done={async () => {
        created(undefined);
        await done('The directory was switched off.', directoryOf(organization_id, domain.id));
      }}
      button="Switch it off"
      tone="danger"
      asks={() => ({
        title: 'Switch the directory off?',
        text:
          'Its token ends, and its groups and whom it has deactivated are forgotten: they can be ' +
          'let in again. Members stay as they are.',
        button: 'Switch it off',
        keep: 'Leave it on',
      })}
    />
  );
}
