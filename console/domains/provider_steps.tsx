import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Static } from 'typebox';
import type { DomainRow } from '../../server/api/domains/schema.ts';
import type { TestSignIn as Started } from '../../server/api/single_sign_on/schema.ts';
import { BoxField, isTicked } from '../form/box_field.tsx';
import { LookOnlyContext } from '../form/context.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import type { Values } from '../form/values.ts';
import { server_address } from '../http/address.ts';
import { etagOf } from '../http/reading.ts';
import { Command } from '../page/command.tsx';
import { Panel } from '../page/panel.tsx';
import { useDone } from '../page/section.tsx';
import { provider_names, providersFor } from '../single_sign_on/providers.ts';
import { Instant } from '../time/instant.tsx';
import { domainOf, domainPath } from './domains.ts';

type Given = { domain: DomainRow; organization_id: string };

/** What the identity provider is, as SAML has it, and what it has to know of this server. */
export function ProviderForm({ domain, organization_id }: Given) {
  const done = useDone();
  return (
    <>
      <p>Give your provider the metadata of this server. Its address is the entity id as well:</p>
      <Command
        text={`${server_address}/api/saml/metadata/?organization=${organization_id}`}
        what="the address of the metadata"
      />
      <p>Where it asks for the ACS URL, which some call the reply URL:</p>
      <Command text={`${server_address}/complete/saml/`} what="the ACS URL" />
      <p className="muted">
        Have it sign assertions, with RSA and SHA-256, and send the attribute <code>email</code>.
      </p>
      <Form<DomainRow>
        method="PATCH"
        path={domainPath(organization_id, domain.id)}
        if_match={etagOf(domain)}
        body={emptyAsNull}
        done={(saved) => done(savedOf(saved), domainOf(organization_id, domain.id))}
        button="Save the provider"
        part="provider"
      >
        <TextField
          name="saml_entity_id"
          label="Its name (entity id)"
          value={domain.saml_entity_id ?? ''}
          autoComplete="off"
          inputMode="url"
        />
        <TextField
          name="saml_acs_url"
          label="Its sign-on address"
          hint="The single sign-on URL for HTTP-Redirect, to which sign-ins are sent."
          value={domain.saml_acs_url ?? ''}
          autoComplete="off"
          inputMode="url"
        />
        <LongField
          name="saml_x509_cert"
          label="Its certificates"
          hint="As PEM, several below each other; while keys change, the old and the new one."
          rows={6}
          defaultValue={domain.saml_x509_cert ?? ''}
        />
      </Form>
    </>
  );
}

/** What was saved of the provider, with what it cannot do without. */
function savedOf({ saml_entity_id, saml_acs_url, saml_x509_cert }: DomainRow): string {
  const fields = {
    'its name': saml_entity_id,
    'its sign-on address': saml_acs_url,
    'its certificates': saml_x509_cert,
  };
  const missing = Object.entries(fields).filter(([, value]) => !value);
  if (missing.length === 0) return 'The provider was saved.';
  if (missing.length === 3) return 'The provider was taken away.';
  const named = new Intl.ListFormat('en-GB').format(missing.map(([what]) => what));
  return `It was saved. Still to be entered: ${named}.`;
}

function emptyAsNull(values: Values): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value === '' ? null : value]),
  );
}

/** What is left to do before people can sign in through the provider; undefined: nothing. */
function missingBefore({ is_verified, has_saml }: DomainRow): string | undefined {
  if (!is_verified) return has_saml ? 'the domain is verified' : 'the steps above are done';
  return has_saml ? undefined : 'all three fields of step 3 are saved';
}

/** A sign-in through the provider that signs nobody in, and shows what the provider says. */
export function TestSignIn({ domain, organization_id }: Given) {
  const [test, setTest] = useState<Static<typeof Started>>();
  const before = missingBefore(domain);
  if (before !== undefined) return <p className="muted">It can begin once {before}.</p>;
  return (
    <>
      <p>It signs nobody in: at its end you see what your provider says of you.</p>
      {test !== undefined && (
        <Panel key={test.url}>
          <p>
            <a href={test.url} target="_blank" rel="noreferrer">
              Open the test in another tab
            </a>{' '}
            <span className="muted">
              It can begin until <Instant at={test.expires_at} is_exact />.
            </span>
          </p>
        </Panel>
      )}
      <Form<Static<typeof Started>>
        path={`${domainPath(organization_id, domain.id)}test_sign_in/`}
        done={setTest}
        button="Begin a test"
        tone="plain"
      />
    </>
  );
}

/** How people with addresses of the domain sign in, and who becomes a member by it. */
export function RulesForm({ domain, organization_id }: Given) {
  const { sso_enforcement, jit_provisioning_enabled, is_verified, has_saml } = domain;
  // What is set already can be taken back without a proof.
  const is_early = !is_verified && sso_enforcement === '' && !jit_provisioning_enabled;
  const form = <ChangeRules domain={domain} organization_id={organization_id} />;
  return (
    <>
      {!is_verified && <p className="muted">These can be set once the domain is verified.</p>}
      {is_verified && !has_saml && (
        <p className="muted">
          Your own provider can be chosen once all three fields of step 3 are saved.
        </p>
      )}
      {is_early ? <LookOnlyContext value>{form}</LookOnlyContext> : form}
    </>
  );
}

function ChangeRules({ domain, organization_id }: Given) {
  const done = useDone();
  const { data } = useQuery(providersFor());
  const { id, sso_enforcement, jit_provisioning_enabled, has_saml } = domain;
  // Without a provider of theirs nobody could sign in: the API refuses to have it demanded.
  const saml = has_saml ? (['saml'] as const) : [];
  const options = [...new Set([...saml, ...(data?.providers ?? [])])].map((value) => ({
    value,
    label: value === 'saml' ? 'Through your provider alone' : `With ${provider_names[value]} alone`,
  }));
  const isListed = options.some(({ value }) => value === sso_enforcement);
  const stored = { value: sso_enforcement, label: sso_enforcement };
  return (
    <Form
      key={options.length}
      method="PATCH"
      path={domainPath(organization_id, id)}
      if_match={etagOf(domain)}
      body={(values) => ({
        sso_enforcement: values['sso_enforcement'],
        jit_provisioning_enabled: isTicked(values, 'jit_provisioning_enabled'),
      })}
      done={() => done('The rules were saved.', domainOf(organization_id, id))}
      button="Save the rules"
      part="rules"
    >
      <ChoiceField
        name="sso_enforcement"
        label="People of the domain sign in"
        options={[
          { value: '', label: 'As they like' },
          ...options,
          ...(isListed || sso_enforcement === '' ? [] : [stored]),
        ]}
        value={sso_enforcement}
      />
      <BoxField
        name="jit_provisioning_enabled"
        label="Who signs in through it for the first time becomes a member"
        is_on={jit_provisioning_enabled}
      />
    </Form>
  );
}
