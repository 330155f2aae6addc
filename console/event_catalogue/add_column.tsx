import type { SchemaColumn } from '../../server/api/schema_columns/schema.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { Seldom, useDone } from '../page/section.tsx';
import { createPath, schemaColumns, schemaProposals } from './schema_columns.ts';

const sources: Record<SchemaColumn['source'], string> = {
  event: 'Events',
  person: 'Persons',
  group: 'Groups',
};
const types: Record<SchemaColumn['type'], string> = {
  text: 'text',
  integer: 'integer',
  float: 'float',
  boolean: 'boolean',
  timestamp: 'timestamp',
  json: 'json',
};

function optionsOf(labels: Record<string, string>) {
  return Object.entries(labels).map(([value, label]) => ({ value, label }));
}

/** Gives a column to a property that is not proposed, such as one of persons. */
export function AddColumn({ project_id, page }: { project_id: string; page: number }) {
  const done = useDone();
  const changed = [schemaColumns(project_id, page), schemaProposals(project_id)] as const;
  return (
    <Seldom summary="Add a column that is not proposed">
      <Form
        path={createPath(project_id)}
        body={({ property, source, type }) => ({ property, source, type })}
        done={({ column }) => done(`${column} is frozen.`, ...changed)}
        button="Add the column"
        clears
      >
        <ChoiceField
          name="source"
          label="Properties of"
          options={optionsOf(sources)}
          value="event"
        />
        <TextField name="property" label="Property" />
        <ChoiceField name="type" label="Type" options={optionsOf(types)} value="text" />
      </Form>
    </Seldom>
  );
}
