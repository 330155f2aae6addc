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
        <Rows
          rows={objects}
          keyOf={({ kind, id }) => `${kind} ${id}`}
          columns={{
            Object: ({ path }) => <code>{path}</code>,
            Name: { long: ({ name }) => <bdi>{name}</bdi> },
            Configuration: ({ source }) => <bdi>{source}</bdi>,
            Commit: ({ commit }) => commit !== null && <code>{commit.slice(0, 12)}</code>,
            Applied: ({ applied_at }) => <Instant at={applied_at} />,
            State: ({ is_deleted, changes }) => {
              if (is_deleted) return <span className="warn">Deleted</span>;
              return changes.length > 0 ? (
                <span className="warn">Changed</span>
              ) : (
                <span className="good">As applied</span>
              );
            },
          }}
        />
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

/** The latest applies: configuration, commit, author, and the number of objects for each action. */
function Applies({ entries }: { entries: ActivityRow[] }) {
  if (entries.length === 0)
    return (
      <Empty title="Nothing was applied yet">
        Each apply gets a line here: the commit, who applied it, and how many objects it changed.
      </Empty>
    );
  return (
    <Rows
      rows={entries}
      keyOf={({ id }) => id}
      columns={{
        Configuration: ({ item_name }) => <bdi>{item_name}</bdi>,
        Commit: (entry) => {
          const commit = valuesOf(entry).get('commit');
          return typeof commit === 'string' && <code>{commit.slice(0, 12)}</code>;
        },
        Applied: ({ created_at }) => <Instant at={created_at} />,
        By: { long: ({ user }) => <bdi>{user?.email ?? 'the server'}</bdi> },
        Objects: {
          long: (entry) =>
            Object.entries(words)
              .map(([action, word]) => [Number(valuesOf(entry).get(action) ?? 0), word] as const)
              .filter(([count]) => count > 0)
              .map(([count, word]) => `${count} ${word}`)
              .join(', '),
        },
      }}
    />
  );
}

const valuesOf = ({ changes }: ActivityRow) =>
  new Map(changes.map(({ field, after }) => [field, after]));

const words = {
  create: 'created',
  change: 'changed',
  move: 'moved',
  adopt: 'taken over',
  delete: 'deleted',
};
