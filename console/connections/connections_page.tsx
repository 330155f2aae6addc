import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { ManagedMark } from '../configuration/managed_mark.tsx';
import { destinationTypes } from '../destinations/destinations.ts';
import { pathOf } from '../http/reading.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { ConnectionForm } from './connection_form.tsx';
import { connections } from './connections.ts';

const route = getRouteApi('/signed_in/organizations/$organization_id/connections');

/** The stored credentials that the organization's exports share. */
export function ConnectionsPage() {
  const { organization_id } = route.useParams();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = connections(organization_id, page);
  const query = useQuery(list);
  const types = useQuery(destinationTypes);
  return (
    <Page title="Connections" request={pathOf(list)}>
      <PagedRows
        query={query}
        page={page}
        go={(wanted) => void navigate({ search: { page: wanted } })}
        keyOf={({ id }) => id}
        columns={{
          Name: ({ id, name, managed_by }) => (
            <>
              <ManagedMark by={managed_by} />
              <Link
                to="/organizations/$organization_id/connections/$connection_id"
                params={{ organization_id, connection_id: id }}
              >
                {name}
              </Link>
            </>
          ),
          Destination: ({ type }) => type,
          Exports: ({ batch_export_count }) => batch_export_count,
        }}
        empty={
          <Empty title="No connections yet">
            A connection is a credential that many exports use. Create one, and rotate it once.
          </Empty>
        }
      />
      <Section title="New connection">
        <OnlyFor organization_id={organization_id}>
          <Shown query={types}>
            {({ results }) => (
              <ConnectionForm
                organization_id={organization_id}
                types={results}
                done={({ id }) =>
                  navigate({
                    to: '/organizations/$organization_id/connections/$connection_id',
                    params: { organization_id, connection_id: id },
                  })
                }
              />
            )}
          </Shown>
        </OnlyFor>
      </Section>
    </Page>
  );
}
