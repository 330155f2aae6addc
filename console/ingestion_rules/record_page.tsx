import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { KindName, ManagedRow } from '../../server/api/managed/schema.ts';
import { AsYaml } from '../configuration/as_yaml.tsx';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import type { Path } from '../http/path.ts';
import { etagOf } from '../http/reading.ts';
import { Page } from '../page/page.tsx';
import { Section, useDone } from '../page/section.tsx';
import { NoSuch, Shown } from '../page/shown.tsx';
import { projectOf } from '../projects/project.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';

type Row = { id: string; managed_by: ManagedRow };
type Deleted = '/api/projects/:project_id/ingestion_rules/:id/' | PlannedEvent;
type PlannedEvent = '/api/projects/:project_id/planned_events/:id/';

/** One ingestion rule or planned event, with its change and its deletion. */
export function RecordPage<Shape extends Row>(given: {
  project_id: string;
  path: Path<Deleted>;
  query: UseQueryResult<Shape>;
  kind: KindName;
  noun: string;
  /** The heading of the form. */
  heading: string;
  nameOf: (row: Shape) => string;
  /** The list of all records, and the link to it. */
  list: { queryKey: Path[] };
  link: ReactNode;
  /** Renders its form. */
  children: (row: Shape, done: () => unknown) => ReactNode;
  /** The text after a change, and the question before its deletion. */
  saved: string;
  loss: string;
  button: string;
  /** Opens the list. */
  leave: () => Promise<void>;
}) {
  const { query, path, noun, nameOf } = given;
  const project = useQuery(projectOf(given.project_id));
  const title = query.data === undefined ? sentence(noun) : nameOf(query.data);
  return (
    <Page title={title} request={path}>
      <Shown query={query} missing={<NoSuch noun={noun}>{given.link}</NoSuch>}>
        {(row) => (
          <Shown query={project}>
            {({ organization }) => (
              <>
                <ManagedNote by={row.managed_by} />
                <AsYaml kind={given.kind} id={row.id} />
                <Section title={given.heading}>
                  <OnlyFor organization_id={organization} shows>
                    <Change {...given} row={row} />
                  </OnlyFor>
                </Section>
                <Section title="Deletion">
                  <OnlyFor organization_id={organization}>
                    <Delete {...given} row={row} name={nameOf(row)} />
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

function sentence(noun: string): string {
  return noun.charAt(0).toUpperCase() + noun.slice(1);
}

function Change<Shape extends Row>({
  row,
  path,
  saved,
  children,
}: {
  row: Shape;
  path: Path;
  saved: string;
  children: (row: Shape, done: () => unknown) => ReactNode;
}) {
  const done = useDone();
  return children(row, () => done(saved, { queryKey: [path] }));
}

function Delete({
  row,
  name,
  path,
  list,
  loss,
  button,
  leave,
}: {
  row: Row;
  name: string;
  path: Path<Deleted>;
  list: { queryKey: Path[] };
  loss: string;
  button: string;
  leave: () => Promise<void>;
}) {
  const queries = useQueryClient();
  return (
    <TypedForm
      name={name}
      text={loss}
      path={path}
      if_match={etagOf(row)}
      done={async () => {
        await queries.invalidateQueries({ queryKey: list.queryKey });
        await leave();
      }}
      button={button}
    />
  );
}
