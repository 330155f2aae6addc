import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { DomainRow } from '../../server/api/domains/schema.ts';
import { Form } from '../form/form.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import { etagOf, pathOf } from '../http/reading.ts';
import { Command } from '../page/command.tsx';
import { AsYaml } from '../configuration/as_yaml.tsx';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { Page } from '../page/page.tsx';
import { Rows } from '../page/rows.tsx';
import { Section, useDone } from '../page/section.tsx';
import { NoSuch, Shown } from '../page/shown.tsx';
import { Table } from '../page/table.tsx';
import { Instant } from '../time/instant.tsx';
import { useNow } from '../time/now.ts';
import { dueIn } from '../time/words.ts';
import { waitingFields } from './anchor_words.ts';
import type { AnchorField } from './anchor_words.ts';
import { directoryOf } from './directory.ts';
import { DirectorySection } from './directory_section.tsx';
import { domainOf, domainPath, proof_states } from './domains.ts';
import { PendingSection } from './pending_section.tsx';
import { ProviderForm, RulesForm, TestSignIn } from './provider_steps.tsx';
import { RenameForm } from './rename_form.tsx';
import { pathTo } from '../http/path.ts';

const route = getRouteApi('/signed_in/organizations/$organization_id/domains/$domain_id');

/** A domain as a list of what is done and what is left: record, proof, provider, test, rules. */
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
    <Page title={query.data?.domain ?? 'Domain'} request={pathOf(read)}>
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
                <RecordToAdd domain={domain} />
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
  if (waits) return <p className="warn">Waiting for an owner. The fields show what waits.</p>;
  return <p className={is_done ? 'good' : 'warn'}>{is_done ? 'Done' : 'To do'}</p>;
}

function RecordToAdd({ domain: { domain, verification_challenge } }: { domain: DomainRow }) {
  return (
    <>
      <p>A record of type TXT, under this name:</p>
      <Command text={`_sluice-challenge.${domain}`} what="the name of the record" />
      <p>with this value:</p>
      <Command text={verification_challenge} what="the value of the record" />
      <p className="muted">Keep the record: the server checks it again.</p>
    </>
  );
}

type Given = { domain: DomainRow; organization_id: string };

function Proof({ domain: { id, verification }, organization_id }: Given) {
  const { state, reason, answers, last_checked_at, next_check_at } = verification;
  const { word, tone } = proof_states[state];
  const done = useDone();
  const now_ms = useNow();
  return (
    <>
      <p className={tone}>{word}</p>
      <p>{reason}</p>
      <p className="muted">
        Last check: {last_checked_at === null ? 'not yet' : <Instant at={last_checked_at} />}. Next
        check: {next_check_at === null ? 'never' : dueIn(next_check_at, now_ms)}.
      </p>
      <Answers answers={answers} reason={reason} />
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

const outcomes = {
  met: { word: 'Has it', tone: 'good' },
  missing: { word: 'Has not', tone: 'bad' },
  unanswered: { word: 'No answer', tone: 'warn' },
};

/** Shows each resolver's answer at the last check, unless the reason above says it. */
function Answers({ answers, reason }: Pick<DomainRow['verification'], 'answers' | 'reason'>) {
  if (answers.length === 0) return null;
  return (
    <Rows columns={['Resolver', 'The record', 'What it said', 'Took']}>
      {answers.map(({ resolver, outcome, detail, took_ms }) => (
        <Table.Tr key={resolver}>
          <Table.Th scope="row" className="short">
            {resolver}
          </Table.Th>
          <Table.Td data-label="The record" className={`short ${outcomes[outcome].tone}`}>
            {outcomes[outcome].word}
          </Table.Td>
          <Table.Td data-label="It said">{detail === reason ? 'As above.' : detail}</Table.Td>
          <Table.Td data-label="Took" className="short">
            {took_ms} ms
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}

function GiveUp({ domain, organization_id }: Given) {
  const navigate = route.useNavigate();
  const { data: directory } = useQuery(directoryOf(organization_id, domain.id));
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
