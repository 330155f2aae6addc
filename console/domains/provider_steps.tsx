import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { DomainRow } from '../../server/api/domains/schema.ts';
import { BoxField, isTicked } from '../form/box_field.tsx';
import { LookOnlyContext } from '../form/context.ts';
import { ChoiceField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import type { Values } from '../form/values.ts';
import { server_address } from '../http/address.ts';
import { etagOf } from '../http/reading.ts';
import { providersFor } from '../single_sign_on/providers.ts';
import { anchor_labels, enforcementWords } from './anchor_words.ts';
import { domainPath } from './domains.ts';
import { MetadataImport, ProviderGuide } from './metadata_import.tsx';
import type { Imported } from './metadata_import.tsx';
import { ProviderFieldsInputs, saml_fields } from './provider_fields.tsx';
import type { SamlField } from './provider_fields.tsx';
import { StartedTest } from './started_test.tsx';
import type { Started } from './started_test.tsx';
import { changedAnchors, shownOf, useSavedAnchors } from './saved_anchors.ts';
import { pathTo } from '../http/path.ts';
import type { AnchorChanges } from '../../server/api/domains/schema.ts';

type Given = { domain: DomainRow; organization_id: string };

/** The steps at the provider, the import of its metadata, and the fields that it fills. */
export function ProviderForm({ domain, organization_id }: Given) {
  const [imported, setImported] = useState<Imported>();
  const metadata =
    server_address + pathTo('/api/saml/metadata/', {}, { organization: organization_id });
  const own = { metadata, entity_id: metadata, acs_url: `${server_address}/complete/saml/` };
  return (
    <>
      <h3>At your provider</h3>
      <ProviderGuide own={own} />
      <h3>Here</h3>
      <MetadataImport by={{ organization_id }} imported={setImported} />
      {imported !== undefined && (
        <p role="status" className="good">
          The fields are filled in. Save the provider.
        </p>
      )}
      <ProviderFieldsForm
        key={JSON.stringify(imported)}
        domain={domain}
        organization_id={organization_id}
        imported={imported}
        saved={() => setImported(undefined)}
      />
    </>
  );
}

function ProviderFieldsForm({
  domain,
  organization_id,
  imported,
  saved,
}: Given & { imported: Imported | undefined; saved: () => void }) {
  const told = useSavedAnchors({ domain, organization_id });
  const textOf = (field: SamlField) => imported?.[field] ?? String(shownOf(domain, field) ?? '');
  return (
    <Form
      // The typed text is outdated after the change was confirmed or discarded.
      key={String(domain.pending_changes === null)}
      method="PATCH"
      path={domainPath(organization_id, domain.id)}
      if_match={etagOf(domain)}
      body={(values) => changedAnchors(domain, emptyAsNull(values))}
      done={async (answer) => {
        await told(answer, savedOf(answer));
        saved();
      }}
      button="Save the provider"
      // Earlier typed text would hide the imported values.
      part={imported === undefined ? 'provider' : null}
    >
      <ProviderFieldsInputs textOf={textOf} />
    </Form>
  );
}

/** Returns what was saved of the provider, with its missing fields. */
function savedOf(saved: DomainRow): string {
  const missing = saml_fields.filter((field) => !shownOf(saved, field));
  if (missing.length === 0) return 'The provider was saved.';
  if (missing.length === 3) return 'The provider was removed.';
  const named = new Intl.ListFormat('en-GB').format(missing.map((field) => anchor_labels[field]));
  return `Saved. Still missing: ${named}.`;
}

/** Returns true if the provider is complete, including waiting values. */
function isComplete(domain: DomainRow): boolean {
  return saml_fields.every((field) => Boolean(shownOf(domain, field)));
}

function emptyAsNull(values: Values): Pick<AnchorChanges, SamlField> {
  return Object.fromEntries(
    saml_fields.map((field) => [field, values[field] === '' ? null : String(values[field])]),
  );
}

/**
 * Returns the remaining step before people can sign in through the provider; undefined without one.
 */
function missingBefore(domain: DomainRow): string | undefined {
  const { is_verified, has_saml } = domain;
  if (is_verified && !has_saml && isComplete(domain)) return 'an owner has confirmed the provider';
  if (!is_verified) return has_saml ? 'the domain is verified' : 'the steps above are done';
  return has_saml ? undefined : 'all three fields of step 3 are saved';
}

/** A test sign-in through the provider, which signs nobody in and shows the provider's data. */
export function TestSignIn({ domain, organization_id }: Given) {
  const [test, setTest] = useState<Started>();
  const before = missingBefore(domain);
  if (before !== undefined) return <p className="muted">It can begin once {before}.</p>;
  return (
    <>
      <StartedTest test={test} />
      <Form
        path={pathTo('/api/organizations/:organization_id/domains/:id/test_sign_in/', {
          organization_id,
          id: domain.id,
        })}
        done={setTest}
        button="Start test"
        tone="plain"
      />
    </>
  );
}

/** Fields for the sign-in of people with addresses in the domain, and for new members. */
export function RulesForm({ domain, organization_id }: Given) {
  const { sso_enforcement, jit_provisioning_enabled, is_verified } = domain;
  const has_saml = isComplete(domain);
  // An existing setting can be removed without a proof.
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
  const saved = useSavedAnchors({ domain, organization_id });
  const { data } = useQuery(providersFor());
  const has_saml = isComplete(domain);
  const sso_enforcement = String(shownOf(domain, 'sso_enforcement'));
  // Without their provider nobody could sign in, so the API refuses to enforce it.
  const saml = has_saml ? (['saml'] as const) : [];
  const values = [...new Set(['', ...saml, ...(data?.providers ?? []), sso_enforcement])];
  return (
    <Form
      key={`${values.length} ${domain.pending_changes === null}`}
      method="PATCH"
      path={domainPath(organization_id, domain.id)}
      if_match={etagOf(domain)}
      body={(filled) =>
        changedAnchors(domain, {
          sso_enforcement: String(filled['sso_enforcement']),
          jit_provisioning_enabled: isTicked(filled, 'jit_provisioning_enabled'),
        })
      }
      done={(answer) => saved(answer, 'The rules were saved.')}
      button="Save the rules"
      part="rules"
    >
      <ChoiceField
        name="sso_enforcement"
        label={anchor_labels.sso_enforcement}
        hint="For everybody with an address in this domain."
        options={values.map((value) => ({ value, label: enforcementWords(value) }))}
        value={sso_enforcement}
      />
      <BoxField
        name="jit_provisioning_enabled"
        label={anchor_labels.jit_provisioning_enabled}
        hint="They become members when they sign in through it for the first time."
        is_on={shownOf(domain, 'jit_provisioning_enabled') === true}
      />
    </Form>
  );
}
