import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ActivityRow } from '../../server/api/activity/schema.ts';
import type { ManagedObject } from '../../server/api/configuration/schema.ts';
import { pathOf } from '../http/reading.ts';
import { useCommandLine } from '../page/around/command_line.tsx';
import { Empty } from '../page/empty.tsx';
import { Command } from '../page/command.tsx';
import { Page } from '../page/page.tsx';
import { Rows } from '../page/tables/rows.tsx';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Table } from '../page/tables/table.tsx';
import { Instant } from '../time/instant.tsx';
import { applies, managedObjects } from '../configuration/configuration.ts';

const route = getRouteApi('/signed_in/organizations/$organization_id/configuration');

/** Shows which objects configurations manage in the organization, and the differences. */
export function ConfigurationPage() {
  const { organization_id } = route.useParams();
  const read = managedObjects(organization_id);
  return (
    <Page title="Configuration" request={pathOf(read)}>
      <Shown query={useQuery(read)}>
        {({ objects }) => (objects.length === 0 ? <Start /> : <Managed objects={objects} />)}
      </Shown>
      <Section title="Applied" is_wide>
        <Shown query={useQuery(applies(organization_id))}>
          {({ results }) => <Applies entries={results} />}
        </Shown>
      </Section>
    </Page>
  );
}

/** Says how to manage the organization as code. */
function Start() {
  const commandLine = useCommandLine();
  return (
    <div className="sheet">
      <Empty title="No configuration manages this organization">
        Exports, plugins and members can live in files beside your code. Write the current state
        into a file, keep that file with your code, and apply it.
      </Empty>
      <Command
        text={['pull', 'plan', 'apply']
          .map((step) => commandLine(`config ${step} sluice.yaml`))
          .join('\n')}
        what="the commands"
      />
    </div>
  );
}

function Managed({ objects }: { objects: ManagedObject[] }) {
  const changed = objects.filter(({ is_deleted, changes }) => is_deleted || changes.length > 0);
  return (
    <>
      <p className={changed.length === 0 ? 'good' : 'warn'}>
        {changed.length === 0
          ? `All ${objects.length} managed objects are unchanged since the last apply.`
          : `Changed since the last apply: ${changed.length} of ${objects.length} managed objects.`}
      </p>
      {changed.length > 0 && (
        <Section title="Changed by hand">
          <p>The next apply changes these back. To keep a change, write it into the files.</p>
          <ul className="records">
            {changed.map((one) => (
              <Changed key={`${one.kind} ${one.id}`} object={one} />
            ))}
          </ul>
        </Section>
      )}
      <Section title="Managed objects" is_wide>
        <Rows columns={['Object', 'Name', 'Configuration', 'Commit', 'Applied', 'State']}>
          {objects.map((one) => (
            <Row key={`${one.kind} ${one.id}`} object={one} />
          ))}
        </Rows>
      </Section>
    </>
  );
}

function Changed({ object: { path, name, is_deleted, changes, by } }: { object: ManagedObject }) {
  return (
    <li>
      <div>
        <p>
          <code>{path}</code> {name !== null && <bdi>{name}</bdi>}{' '}
          {is_deleted && <span className="bad">Deleted</span>}
        </p>
        <dl className="differences">
          {changes.map(({ field, before, after }) => (
            <div key={field}>
              <dt>{field}</dt>
              <dd>
                <del dir="auto">{inWords(before)}</del> <ins dir="auto">{inWords(after)}</ins>
              </dd>
            </div>
          ))}
        </dl>
      </div>
      {by !== null && (
        <p className="muted">
          <bdi>{by.user ?? 'the server'}</bdi> <Instant at={by.at} />
        </p>
      )}
    </li>
  );
}

function inWords(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

function Row({ object }: { object: ManagedObject }) {
  const { path, name, source, commit, applied_at, is_deleted, changes } = object;
  const is_changed = is_deleted || changes.length > 0;
  return (
    <Table.Tr>
      <Table.Th scope="row">
        <code>{path}</code>
      </Table.Th>
      <Table.Td data-label="Name" className="long">
        <bdi>{name}</bdi>
      </Table.Td>
      <Table.Td data-label="Configuration">
        <bdi>{source}</bdi>
      </Table.Td>
      <Table.Td data-label="Commit">
        {commit !== null && <code>{commit.slice(0, 12)}</code>}
      </Table.Td>
      <Table.Td data-label="Applied">
        <Instant at={applied_at} />
      </Table.Td>
      <Table.Td data-label="State" className={is_changed ? 'warn' : 'good'}>
        {is_deleted ? 'Deleted' : is_changed ? 'Changed' : 'As applied'}
      </Table.Td>
    </Table.Tr>
  );
}

/** The latest applies: configuration, commit, author, and the number of objects for each action. */
function Applies({ entries }: { entries: ActivityRow[] }) {
  if (entries.length === 0)
    return (
      <Empty title="Nothing was applied yet">
        Each apply gets a line here: the commit, who applied it, and how many objects it changed.
      </Empty>
    );
  return (
    <Rows columns={['Configuration', 'Commit', 'Applied', 'By', 'Objects']}>
      {entries.map(({ id, item_name, user, created_at, changes }) => {
        const values = new Map(changes.map(({ field, after }) => [field, after]));
        const counts = ['create', 'change', 'move', 'adopt', 'delete'].flatMap((action) => {
          const count = Number(values.get(action) ?? 0);
          return count === 0 ? [] : [`${count} ${words[action]}`];
        });
        const commit = values.get('commit');
        return (
          <Table.Tr key={id}>
            <Table.Th scope="row">
              <bdi>{item_name}</bdi>
            </Table.Th>
            <Table.Td data-label="Commit">
              {typeof commit === 'string' && <code>{commit.slice(0, 12)}</code>}
            </Table.Td>
            <Table.Td data-label="Applied">
              <Instant at={created_at} />
            </Table.Td>
            <Table.Td data-label="By" className="long">
              <bdi>{user?.email ?? 'the server'}</bdi>
            </Table.Td>
            <Table.Td data-label="Objects" className="long">
              {counts.join(', ')}
            </Table.Td>
          </Table.Tr>
        );
      })}
    </Rows>
  );
}

const words: Record<string, string> = {
  create: 'created',
  change: 'changed',
  move: 'moved',
  adopt: 'taken over',
  delete: 'deleted',
};
