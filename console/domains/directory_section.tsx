import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { DomainRow } from '../../server/api/domains/schema.ts';
import type { DirectoryRow, NewTokenRow } from '../../server/api/scim/schema.ts';
import { BoxField, isTicked } from '../form/box_field.tsx';
import { Form } from '../form/form.tsx';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { Command } from '../page/command.tsx';
import { Panel } from '../page/panel.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { directoryOf, directoryPath, tokensOf } from './directory.ts';
import { DirectoryGroups } from './directory_groups.tsx';
import { CreateToken, DirectoryTokens } from './directory_tokens.tsx';
import { counted } from '../page/text/quantities.ts';

type Given = { domain: DomainRow; organization_id: string };
type Created = { created: (token: NewTokenRow | undefined) => void };

/** Most working tokens: the current one, and the one that replaces it. */
const tokens_max = 2;

/** The company's directory, which decides who is a member. */
export function DirectorySection(given: Given) {
  const { domain, organization_id } = given;
  const query = useQuery(directoryOf(organization_id, domain.id));
  const [created, setCreated] = useState<NewTokenRow>();
  return (
    <Section title="Provisioning (SCIM)" is_wide>
      <p>
        Your directory (Okta, Entra ID and others) can say who is a member. New colleagues are here
        before their first sign-in; whoever leaves the company is taken out, with every key.
      </p>
      {created?.token !== undefined && (
        <NewToken key={created.id} name={created.name} token={created.token} />
      )}
      <Shown query={query}>
        {(directory) =>
          directory.is_on ? (
            <On {...given} directory={directory} created={setCreated} />
          ) : domain.is_verified ? (
            <OnlyFor organization_id={organization_id} level={15}>
              <CreateToken
                organization_id={organization_id}
                domain_id={domain.id}
                created={setCreated}
              />
            </OnlyFor>
          ) : (
            <p className="muted">You can switch it on once the domain is verified.</p>
          )
        }
      </Shown>
    </Section>
  );
}

function NewToken({ name, token }: { name: string; token: string }) {
  return (
    <Panel>
      <h3>
        The token “<bdi>{name}</bdi>”
      </h3>
      <p>Copy it now: it is not shown again. Your directory sends it as a bearer token.</p>
      <Command text={token} what="the token of the directory" />
    </Panel>
  );
}

function On({ directory, created, ...given }: Given & Created & { directory: DirectoryRow }) {
  const { domain, organization_id } = given;
  const { base_url, last_used_at, token_count } = directory;
  const place = { organization_id, domain_id: domain.id };
  return (
    <>
      {!domain.is_verified && (
        <p className="bad">The domain is not verified now, so the server refuses the directory.</p>
      )}
      <p>Give your directory this base URL and a token:</p>
      <Command text={base_url} what="the base URL" />
      <p>
        {last_used_at === null ? (
          <span className="warn">The directory has not sent any request yet.</span>
        ) : (
          <>
            The directory last asked <Instant at={last_used_at} />.
          </>
        )}{' '}
        {people(directory)}
      </p>
      <h3>Tokens</h3>
      <p>
        A token ends when its creator is no longer an owner, so let two owners create one each. To
        replace a token, create the next one, enter it at your directory, then revoke the old one.
      </p>
      <DirectoryTokens {...place} />
      {domain.is_verified && (
        <OnlyFor organization_id={organization_id} level={15} what="can create and revoke tokens">
          {token_count < tokens_max ? (
            <Seldom summary="Create another token" is_open={token_count === 0}>
              <CreateToken {...place} created={created} />
            </Seldom>
          ) : (
            <p className="muted">Two tokens work at a time. Revoke one to create another.</p>
          )}
        </OnlyFor>
      )}
      <DirectoryGroups directory={directory} {...place} />
      <h3>Owners</h3>
      <OnlyFor organization_id={organization_id} level={15} shows>
        <Owners {...given} key={String(directory.may_manage_owners)} directory={directory} />
      </OnlyFor>
      <OnlyFor organization_id={organization_id} level={15} what="can switch it off">
        <Seldom summary="Switch the directory off">
          <p>Members stay as they are.</p>
          <SwitchOff {...given} created={created} />
        </Seldom>
      </OnlyFor>
    </>
  );
}

function people({ active_people, deactivated_people }: DirectoryRow): string {
  const members = `It manages ${counted(active_people, 'member')}`;
  return deactivated_people === 0
    ? `${members}, and has deactivated nobody.`
    : `${members}, and has deactivated ${deactivated_people.toLocaleString('en')}.`;
}

function Owners({ domain, organization_id, directory }: Given & { directory: DirectoryRow }) {
  const done = useDone();
  return (
    <Form
      method="PATCH"
      path={directoryPath(organization_id, domain.id)}
      body={(values) => ({ may_manage_owners: isTicked(values, 'may_manage_owners') })}
      done={() => done('The rule about owners was saved.', directoryOf(organization_id, domain.id))}
      button="Save rule"
      asks={(values) =>
        isTicked(values, 'may_manage_owners') && !directory.may_manage_owners
          ? {
              title: 'Let the directory manage owners?',
              text:
                'Administrators of your directory can then remove every owner but the last ' +
                'one. All owners get a mail.',
              button: 'Let it manage owners',
              keep: 'Leave owners alone',
            }
          : undefined
      }
    >
      <BoxField
        name="may_manage_owners"
        label="The directory may deactivate, delete and restore owners"
        hint="If off, the server refuses this, and a returning owner becomes an administrator."
        is_on={directory.may_manage_owners}
      />
    </Form>
  );
}

function SwitchOff({ domain, organization_id, created }: Given & Created) {
  const done = useDone();
  return (
    <Form
      method="DELETE"
      path={directoryPath(organization_id, domain.id)}
      done={async () => {
        created(undefined);
        await done(
          'The directory was switched off.',
          directoryOf(organization_id, domain.id),
          tokensOf(organization_id, domain.id),
        );
      }}
      button="Switch off"
      tone="danger"
      asks={() => ({
        title: 'Switch the directory off?',
        text:
          'Its tokens and groups are deleted. People whom it deactivated may join again. ' +
          'Members stay members.',
        button: 'Switch off',
        keep: 'Leave it on',
      })}
    />
  );
}
