import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { OrganizationApiKeyRow } from '../../server/api/api_keys/schema.ts';
import { Form } from '../form/form.tsx';
import { pathTo } from '../http/path.ts';
import { pathOf } from '../http/reading.ts';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import { Section, useDone } from '../page/section.tsx';
import { nameOf } from '../signed_in/member_words.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { organizations } from '../signed_in/organizations.ts';
import { Instant } from '../time/instant.tsx';
import { organizationKeys } from './api_keys.ts';
import { scopesInWords } from './scope_names.ts';
import { ServiceKeySection } from './service_key_section.tsx';

const route = getRouteApi('/signed_in/organizations/$organization_id/keys');

/**
 * The keys with access to the organization: its own keys, and its members' keys; for
 * administrators.
 */
export function OrganizationKeysPage() {
  const { organization_id } = route.useParams();
  const { page = 1 } = route.useSearch();
  const request = pathOf(organizationKeys(organization_id, page));
  return (
    <Page title="API keys" request={request}>
      <OnlyFor organization_id={organization_id} what="can see API keys">
        <ServiceKeySection organization_id={organization_id} />
        <Section title="Keys of members" is_wide>
          <p className="muted">
            These keys have access to this organization. A key can do what its owner may do.{' '}
            <Link to="/account">Create and revoke your own keys</Link> on your account page. To end
            all keys of a person here, remove the member.
          </p>
          <Keys organization_id={organization_id} page={page} />
        </Section>
      </OnlyFor>
    </Page>
  );
}

function Keys({ organization_id, page }: { organization_id: string; page: number }) {
  const query = useQuery(organizationKeys(organization_id, page));
  const { data } = useQuery(organizations);
  const projects = new Map(
    data?.results.flatMap(({ teams }) => teams.map(({ id, name }) => [id, name] as const)),
  );
  const navigate = route.useNavigate();
  return (
    <PagedRows
      query={query}
      page={page}
      go={(wanted) => void navigate({ search: { page: wanted } })}
      keyOf={({ id }) => id}
      columns={columnsOf(organization_id, projects)}
      empty={
        <Empty
          title="No key has access to this organization"
          way={
            <Link to="/account" className="act">
              Create an API key
            </Link>
          }
        >
          Programs sign in with API keys. Each belongs to a member and can do at most what they may.
        </Empty>
      }
    />
  );
}

const columnsOf = (
  organization_id: string,
  names: ReadonlyMap<number, string>,
): Columns<OrganizationApiKeyRow> => ({
  Key: ({ label, mask_value, agent }) => (
    <>
      <bdi>{label}</bdi> <code>{mask_value}</code>
      {agent !== null && <span className="muted"> assistant</span>}
    </>
  ),
  Owner: {
    long: ({ user }) => (
      <Link
        to="/organizations/$organization_id/members"
        params={{ organization_id }}
        search={{ member: user.uuid }}
      >
        <bdi>{nameOf(user)}</bdi>
      </Link>
    ),
  },
  May: { long: ({ scopes }) => scopesInWords(scopes, 'everything that the owner may') },
  Projects: {
    long: ({ projects }) =>
      projects.length === 0 ? 'All' : projects.map((id) => names.get(id) ?? `${id}`).join(', '),
  },
  'Last used': ({ last_used_at: at }) =>
    at === null ? <span className="muted">Never</span> : <Instant at={at} />,
  Expires: ({ expires_at: at }) =>
    at === null ? <span className="warn">Never</span> : <Instant at={at} />,
  Created: ({ created_at }) => <Instant at={created_at} />,
  Change: ({ id, label, agent }) =>
    agent !== null && <End id={id} label={label} organization_id={organization_id} />,
});

/** A button that removes the organization from an assistant's access. */
function End(given: { id: string; label: string; organization_id: string }) {
  const { id, label, organization_id } = given;
  const done = useDone();
  const path = '/api/organizations/:organization_id/personal_api_keys/:id/';
  return (
    <Form
      method="DELETE"
      path={pathTo(path, { organization_id, id })}
      done={() => done('The access was revoked.', organizationKeys(organization_id, 1))}
      button="Revoke"
      about={`the access of ${label}`}
      tone="danger"
      asks={() => ({
        title: `Revoke the access of “${label}” to this organization?`,
        text: 'It stops working here at once. Its person can let it in again.',
        button: 'Revoke the access',
        keep: 'Keep the access',
      })}
    />
  );
}
