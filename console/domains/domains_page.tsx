import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { toUnicode } from 'punycode.js';
import type { DomainRow } from '../../server/api/domains/schema.ts';
import { ManagedMark } from '../configuration/managed_mark.tsx';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { pathOf } from '../http/reading.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import { Section } from '../page/section.tsx';
import { Instant } from '../time/instant.tsx';
import { anchor_labels, enforcementWords } from './anchor_words.ts';
import { domains, proof_states } from './domains.ts';
import { pathTo } from '../http/path.ts';

const route = getRouteApi('/signed_in/organizations/$organization_id/domains');

/** The domains that the organization has claimed, with their states. */
export function DomainsPage() {
  const { organization_id } = route.useParams();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = domains(organization_id, page);
  const query = useQuery(list);
  return (
    <Page title="Domains" request={pathOf(list)}>
      <PagedRows
        query={query}
        page={page}
        go={(wanted) => void navigate({ search: { page: wanted } })}
        keyOf={({ id }) => id}
        columns={columnsOf(organization_id)}
        empty={
          <Empty title="No domains yet">
            Claim your domain and prove it, so that its people sign in through your provider.
          </Empty>
        }
      />
      <Section title="Claim a domain">
        <OnlyFor organization_id={organization_id}>
          <Claim organization_id={organization_id} />
        </OnlyFor>
      </Section>
    </Page>
  );
}

const columnsOf = (organization_id: string): Columns<DomainRow> => ({
  Domain: ({ id, domain, managed_by }) => {
    const spelling = toUnicode(domain);
    return (
      <>
        <ManagedMark by={managed_by} />
        <Link
          to="/organizations/$organization_id/domains/$domain_id"
          params={{ organization_id, domain_id: id }}
        >
          {spelling}
        </Link>
        {/* Letters of other scripts look alike, so the DNS name is shown too. */}
        {spelling !== domain && <span className="muted"> {domain}</span>}
      </>
    );
  },
  Proof: ({ verification: { state } }) => (
    <span className={proof_states[state].tone}>{proof_states[state].word}</span>
  ),
  'Last looked up': ({ verification: { last_checked_at: at } }) =>
    at === null ? <span className="muted">not yet</span> : <Instant at={at} />,
  [anchor_labels.sso_enforcement]: ({ sso_enforcement, pending_changes }) => (
    <>
      {enforcementWords(sso_enforcement)}
      {pending_changes !== null && <p className="warn">Waiting for an owner</p>}
    </>
  ),
});

function Claim({ organization_id }: { organization_id: string }) {
  const navigate = route.useNavigate();
  return (
    <Form
      path={pathTo('/api/organizations/:organization_id/domains/', { organization_id })}
      body={({ domain }) => ({ domain })}
      done={({ id }) =>
        navigate({
          to: '/organizations/$organization_id/domains/$domain_id',
          params: { organization_id, domain_id: id },
        })
      }
      button="Claim the domain"
    >
      <TextField
        name="domain"
        label="Domain"
        hint="Such as example.com. You prove it with a DNS record."
        inputMode="url"
      />
    </Form>
  );
}
