import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { toUnicode } from 'punycode.js';
import type { DomainRow } from '../../server/api/domains/schema.ts';
import { Form } from '../form/form.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import { etagOf, pathOf } from '../http/reading.ts';
import { AsYaml } from '../configuration/as_yaml.tsx';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { Page } from '../page/page.tsx';
import { Section, useDone } from '../page/section.tsx';
import { NoSuch, Shown } from '../page/shown.tsx';
import { waitingFields } from './anchor_words.ts';
import type { AnchorField } from './anchor_words.ts';
import { directoryOf } from './directory.ts';
import { DirectorySection } from './directory_section.tsx';
import { domainOf, domainPath } from './domains.ts';
import { PendingSection } from './pending_section.tsx';
import { ProofState, RecordToAdd } from './proof_parts.tsx';
import { ProviderForm, RulesForm, TestSignIn } from './provider_steps.tsx';
import { SetupLinkSection } from './setup_link_section.tsx';
import { RenameForm } from './rename_form.tsx';
import { pathTo } from '../http/path.ts';

const route = getRouteApi('/signed_in/organizations/$organization_id/domains/$domain_id');

/** A domain as a list of steps: record, proof, provider, test, rules. */
export function DomainPage() {
  const { organization_id, domain_id } = route.useParams();
  const read = domainOf(organization_id, domain_id);
  const query = useQuery(read);
  const missing = (
    <NoSuch noun="domain">
      <Link to="/organizations/$organization_id/domains" params={{ organization_id }}>
        The domains of this organization
      </Link>
    </NoSuch>
  );
  return (
    <Page title={toUnicode(query.data?.domain ?? 'Domain')} request={pathOf(read)}>
      <Shown query={query} missing={missing}>
        {(domain) => {
          const given = { domain, organization_id };
          return (
            <>
              <ManagedNote by={domain.managed_by} />
              <AsYaml kind="domain" id={domain.id} />
              <PendingSection {...given} />
              <Section title="1. Add the record to your DNS">
                <Mark is_done={domain.is_verified} />
                <RecordToAdd {...domain} />
              </Section>
              <Section title="2. Check the record">
                <Proof {...given} />
              </Section>
              <Section title="3. Enter your identity provider">
                <Mark is_done={domain.has_saml} waits={isWaiting(domain, isSaml)} />
                <OnlyFor organization_id={organization_id} shows>
                  <ProviderForm {...given} />
                </OnlyFor>
              </Section>
              <Section title="4. Test the sign-in">
                <OnlyFor organization_id={organization_id}>
                  <TestSignIn {...given} />
                </OnlyFor>
              </Section>
              <Section title="5. Choose how people sign in">
                <Mark is_done={domain.sso_enforcement !== ''} waits={isWaiting(domain, isRule)} />
                <OnlyFor organization_id={organization_id} shows>
                  <RulesForm {...given} />
                </OnlyFor>
              </Section>
              <SetupLinkSection {...given} />
              <DirectorySection {...given} />
              <NameAndEnd {...given} />
            </>
          );
        }}
      </Shown>
    </Page>
  );
}

function NameAndEnd(given: Given) {
  const { organization_id } = given;
  return (
    <>
      <Section title="Name">
        <OnlyFor organization_id={organization_id}>
          <RenameForm {...given} />
        </OnlyFor>
      </Section>
      <Section title="Deletion">
        <OnlyFor organization_id={organization_id}>
          <GiveUp {...given} />
        </OnlyFor>
      </Section>
    </>
  );
}

function isSaml(field: AnchorField): boolean {
  return field.startsWith('saml_');
}

function isRule(field: AnchorField): boolean {
  return field !== 'domain' && !isSaml(field);
}

function isWaiting(domain: DomainRow, isOfStep: (field: AnchorField) => boolean): boolean {
  return waitingFields(domain).some(isOfStep);
}

/** True if a step is done, or was changed and waits for an owner. */
function Mark({ is_done, waits = false }: { is_done: boolean; waits?: boolean }) {
  if (waits)
    return <p className="warn">Waiting for an owner. The fields show the waiting values.</p>;
  return <p className={is_done ? 'good' : 'warn'}>{is_done ? 'Done' : 'To do'}</p>;
}

type Given = { domain: DomainRow; organization_id: string };

function Proof({ domain: { id, verification }, organization_id }: Given) {
  const done = useDone();
  return (
    <>
      <ProofState verification={verification} />
      <OnlyFor organization_id={organization_id}>
        <Form
          path={pathTo('/api/organizations/:organization_id/domains/:id/verify/', {
            organization_id,
            id,
          })}
          done={() => done('The server checked the record.', domainOf(organization_id, id))}
          button="Check now"
          tone="plain"
        />
      </OnlyFor>
    </>
  );
}

function GiveUp({ domain, organization_id }: Given) {
  const navigate = route.useNavigate();
  const { data: directory, isPending } = useQuery(directoryOf(organization_id, domain.id));
  // The question must name the directory, if there is one.
  if (isPending) return undefined;
  return (
    <TypedForm
      name={domain.domain}
      text={
        'Its sign-in rules are deleted. Accounts stay.' +
        (directory?.is_on === true
          ? ' Its directory is deleted too, with the token and the groups. People whom it ' +
            'deactivated may join again.'
          : '')
      }
      path={domainPath(organization_id, domain.id)}
      if_match={etagOf(domain)}
      done={() =>
        navigate({
          to: '/organizations/$organization_id/domains',
          params: { organization_id },
        })
      }
      button="Give the domain up"
    />
  );
}
