import { useQuery } from '@tanstack/react-query';
import type { SchemaColumn } from '../../server/api/schema_columns/schema.ts';
import { ActButton } from '../batch_exports/act_button.tsx';
import { StateMark } from '../batch_exports/state_mark.tsx';
import { ManagedMark } from '../configuration/managed_mark.tsx';
import { Form } from '../form/form.tsx';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import { Empty } from '../page/empty.tsx';
import { useDone } from '../page/section.tsx';
import { Fit } from './fit.tsx';
import { Whose } from './whose.tsx';
import {
  columnPath,
  createPath,
  propertyWords,
  schemaColumns,
  schemaProposals,
  stateOf,
} from './schema_columns.ts';

/** Shows the columns of the schema, with their actions. */
export function ColumnSection({
  project_id,
  page,
  go,
}: {
  project_id: string;
  page: number;
  go: (page: number) => void;
}) {
  const query = useQuery(schemaColumns(project_id, page));
  return (
    <PagedRows
      query={query}
      page={page}
      go={go}
      keyOf={({ id }) => id}
      columns={{
        Property: (one) => (
          <>
            <Whose of={one} />
            <ManagedMark by={one.managed_by} />
          </>
        ),
        State: (one) => <StateMark state={stateOf(one)} />,
        Column: { long: ({ column }) => <code>{column}</code> },
        Type: ({ type }) => type,
        Values: ({ values, misfits }) => <Fit values={values} misfits={misfits} />,
        Actions: (one) => <Actions project_id={project_id} page={page} column={one} />,
      }}
      empty={
        <Empty title="No columns yet">
          Columns that you freeze are listed here. No other property ever gets their names, so that
          tables at destinations stay right.
        </Empty>
      }
    />
  );
}

function Actions({
  project_id,
  page,
  column: one,
}: {
  project_id: string;
  page: number;
  column: SchemaColumn;
}) {
  const { id, property, column, source, is_filled, other_types } = one;
  const done = useDone();
  const changed = [schemaColumns(project_id, page), schemaProposals(project_id)] as const;
  const add = (type: SchemaColumn['type'], label: string) => (
    <ActButton
      path={createPath(project_id)}
      body={{ property, type, source }}
      label={label}
      about={propertyWords(one)}
      done={async (created) => {
        await done(`${created.column} is frozen.`, ...changed);
        return '';
      }}
    />
  );
  if (!is_filled) return add(one.type, 'Freeze again');
  const [wider] = other_types;
  return (
    <span className="type_choice">
      {wider !== undefined && add(wider, `Add as ${wider}`)}
      <Form
        method="DELETE"
        path={columnPath(project_id, id)}
        part={id}
        done={() => done(`${column} is removed from the schema.`, ...changed)}
        tone="danger"
        button="Remove"
        about={propertyWords(one)}
        asks={() => ({
          title: `Remove the column ${column}?`,
          text:
            'Exports leave it empty from their next run on, and its values go into the rest ' +
            'column. Tables keep the column. You can freeze it again.',
          button: 'Remove the column',
          keep: 'Keep the column',
        })}
      />
    </span>
  );
}
