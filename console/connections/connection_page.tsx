import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import type { DestinationTest } from '../../server/api/batch_exports/drafts/schema.ts';
import type { Connection } from '../../server/api/batch_exports/connections/schema.ts';
import type { DestinationType } from '../../server/api/destinations/schema.ts';
import { TestSteps } from '../destinations/test_steps.tsx';
import { AsYaml } from '../configuration/as_yaml.tsx';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { configToSend, exportPart } from '../destinations/config.ts';
import type { Typed } from '../destinations/config.ts';
import { ConfigFields } from '../destinations/config_fields.tsx';
import { destinationTypes } from '../destinations/destinations.ts';
import { Form } from '../form/form.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import { etagOf, pathOf } from '../http/reading.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import { Section, useDone } from '../page/section.tsx';
import { NoSuch, Shown } from '../page/shown.tsx';
import { ConnectionForm } from './connection_form.tsx';
import { connectionOf, connectionPath } from './connections.ts';
import { pathTo } from '../http/path.ts';

const route = getRouteApi('/signed_in/organizations/$organization_id/connections/$connection_id');
type Given = { connection: Connection; organization_id: string };

/** One connection: a test, the exports that use it, its change and its deletion. */
export function ConnectionPage() {
  const { organization_id, connection_id } = route.useParams();
  const read = connectionOf(organization_id, connection_id);
  const query = useQuery(read);
  const types = useQuery(destinationTypes);
  const missing = (
    <NoSuch noun="connection">
      <Link to="/organizations/$organization_id/connections" params={{ organization_id }}>
        The connections of this organization
      </Link>
    </NoSuch>
  );
  return (
    <Page title={query.data?.name ?? 'Connection'} request={pathOf(read)}>
      <Shown query={query} missing={missing}>
        {(connection) => (
          <Shown query={types}>
            {({ results }) => (
              <>
                <ManagedNote by={connection.managed_by} />
                <AsYaml kind="connection" id={connection.id} />
                <Section title="Exports that use it">
                  <Using {...connection} />
                </Section>
                <Section title="Test">
                  <Test
                    connection={connection}
                    organization_id={organization_id}
                    type={results.find(({ type }) => type === connection.type)!}
                  />
                </Section>
                <Section title="Change">
                  <OnlyFor organization_id={organization_id} shows>
                    <Change
                      connection={connection}
                      organization_id={organization_id}
                      types={results}
                    />
                  </OnlyFor>
                </Section>
                <Section title="Deletion">
                  <OnlyFor organization_id={organization_id}>
                    <Delete connection={connection} organization_id={organization_id} />
                  </OnlyFor>
                </Section>
              </>
            )}
          </Shown>
        )}
      </Shown>
    </Page>
  );
}

function Using({ batch_exports, batch_export_count }: Connection) {
  if (batch_export_count === 0)
    return (
      <Empty title="No export uses it yet">
        Choose this connection as the destination of an export, and the export uses its credentials.
      </Empty>
    );
  const more = batch_export_count - batch_exports.length;
  return (
    <>
      <ul>
        {batch_exports.map(({ id, team_id, name }) => (
          <li key={id}>
            <Link
              to="/projects/$project_id/exports/$export_id"
              params={{ project_id: String(team_id), export_id: id }}
            >
              {name}
            </Link>
          </li>
        ))}
      </ul>
      {more > 0 && <p className="muted">{more} more</p>}
    </>
  );
}

/**
 * Tests the sign-in at the destination; asks for keys of an export that the test needs, such as a
 * bucket.
 */
function Test({ connection, organization_id, type }: Given & { type: DestinationType }) {
  const [tested, setTested] = useState<DestinationTest>();
  const [typed, setTyped] = useState<Typed>({});
  const asked = exportPart(type, { is_required: true });
  return (
    <>
      <div role="status">
        {tested !== undefined && <TestSteps test={tested} type={type} is_old={false} />}
      </div>
      <Form
        path={pathTo('/api/organizations/:organization_id/connections/:id/test/', {
          organization_id,
          id: connection.id,
        })}
        body={() => ({ config: configToSend(asked, typed, undefined) })}
        part={null}
        done={setTested}
        button="Test connection"
        tone="plain"
      >
        <ConfigFields
          prefix="config__"
          type={asked}
          typed={typed}
          stored={undefined}
          secret_keys={[]}
          set={(key, value) => setTyped((before) => ({ ...before, [key]: value }))}
        />
      </Form>
    </>
  );
}

function Change({ connection, organization_id, types }: Given & { types: DestinationType[] }) {
  const done = useDone();
  return (
    <ConnectionForm
      organization_id={organization_id}
      types={types}
      stored={connection}
      done={() => done('The connection was saved.', connectionOf(organization_id, connection.id))}
    />
  );
}

function Delete({ connection, organization_id }: Given) {
  const navigate = route.useNavigate();
  return (
    <TypedForm
      name={connection.name}
      text="Its credentials are deleted. A connection that exports use cannot be deleted."
      path={connectionPath(organization_id, connection.id)}
      if_match={etagOf(connection)}
      done={() =>
        navigate({
          to: '/organizations/$organization_id/connections',
          params: { organization_id },
        })
      }
      button="Delete connection"
    />
  );
}
