import { etagOf } from '../../http/reading.ts';
import { Form } from '../../form/form.tsx';
import { counted } from '../../page/text/quantities.ts';
import { exportPath, useExport } from '../export_context.ts';
import { useReadAnew } from '../read_anew.ts';

type Column = { column: string; type: string };

/** Shows that a newer schema waits and which columns it changes, with a button that accepts it. */
export function WaitingSchema() {
  const { row, ids } = useExport();
  const readAnew = useReadAnew(exportPath(ids));
  if (row.waiting_schema === null) return undefined;
  const { schema_number, added, removed } = row.waiting_schema;
  return (
    <section className="note" aria-label="A newer schema">
      <p>
        Schema {schema_number} of the project waits for you. This export has schema{' '}
        {row.schema_number}.
      </p>
      <ul>
        <Columns verb="adds" columns={added} />
        <Columns verb="no longer fills" columns={removed} />
      </ul>
      <Form
        method="PATCH"
        path={exportPath(ids)}
        if_match={etagOf(row)}
        body={() => ({ schema_number })}
        done={readAnew}
        button={`Take schema ${schema_number}`}
      />
    </section>
  );
}

const named_max = 10;

function Columns({ verb, columns }: { verb: string; columns: Column[] }) {
  if (columns.length === 0) return undefined;
  const more = columns.length - named_max;
  return (
    <li>
      It {verb} {counted(columns.length, 'column')}:{' '}
      {columns.slice(0, named_max).map(({ column, type }, at) => (
        <span key={column}>
          {at > 0 && ', '}
          <code>{column}</code> ({type})
        </span>
      ))}
      {more > 0 && ` and ${more} more`}
    </li>
  );
}
