import { Button, Tabs } from '@mantine/core';
import type { ExportPreview } from '../../../server/api/batch_exports/drafts/schema.ts';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { inLabels } from '../../destinations/labels.ts';
import { counted, inBytes } from '../../page/text/quantities.ts';
import type { Live } from './asking.ts';

/** The first rows of a form: as a table, and as the bytes for the destination. */
export function FirstRows({
  type,
  live,
  tried,
  ask,
}: {
  type: DestinationType | undefined;
  live: Live | undefined;
  tried: string;
  ask: (() => void) | undefined;
}) {
  const problem = live?.problem;
  return (
    <section aria-busy={live !== undefined && live.of !== tried}>
      <h2>First rows</h2>
      {ask !== undefined && (
        <Button size="compact-sm" onClick={ask}>
          Show first rows
        </Button>
      )}
      {live === undefined && ask === undefined && (
        <p className="muted">
          {type === undefined
            ? 'Choose a destination to see the oldest rows in its form.'
            : 'Fill in the required fields to see the oldest rows.'}
        </p>
      )}
      {live !== undefined && live.preview === undefined && problem === undefined && (
        <p className="muted">Reading the oldest rows…</p>
      )}
      {problem !== undefined && type !== undefined && (
        <div className="muted">
          <p>No rows yet:</p>
          <ul>
            {problem.violations.map(({ attr, detail }) => (
              <li key={`${attr} ${detail}`}>
                {[...labelOf(attr), inLabels(type, detail)].join(': ')}
              </li>
            ))}
          </ul>
        </div>
      )}
      {live?.preview !== undefined && problem === undefined && <Preview preview={live.preview} />}
    </section>
  );
}

/** Returns the label of a fault's field; undefined without one. */
function labelOf(attr: string | null): string[] {
  // The two parts of a time share one field.
  const parts = attr?.replace(/^offset_(hour|minute)$/, 'offset_time').split('__') ?? [];
  return parts
    .map((_, at) => parts.slice(0, parts.length - at).join('__'))
    .flatMap((name) => [...document.getElementsByName(name)])
    .flatMap((field) => [...((field as HTMLInputElement).labels ?? [])])
    .slice(0, 1)
    .map(({ textContent }) => textContent.replace(/ *\*$/, ''));
}

function Preview({ preview }: { preview: ExportPreview }) {
  if (preview.records === 0) return <p className="muted">The project has no rows to export yet.</p>;
  return (
    <Tabs defaultValue="rows" keepMounted={false}>
      <Tabs.List>
        <Tabs.Tab value="rows">Rows</Tabs.Tab>
        <Tabs.Tab value="bytes">Final bytes</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="rows">
        <p className="muted">Times are in UTC.</p>
        <RowTable {...preview} />
      </Tabs.Panel>
      <Tabs.Panel value="bytes">
        <Bytes preview={preview} />
      </Tabs.Panel>
    </Tabs>
  );
}

function RowTable({ columns, rows }: Pick<ExportPreview, 'columns' | 'rows'>) {
  return (
    <div className="row_table" tabIndex={0} role="region" aria-label="The oldest rows">
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, number) => (
            <tr key={number}>
              {row.map((value, index) => (
                <td key={columns[index]} title={value ?? undefined}>
                  {value ?? <span className="muted">null</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Bytes({ preview }: { preview: ExportPreview }) {
  const { format, compression, records, headers, text, base64 } = preview;
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const save = () => {
    const address = URL.createObjectURL(new Blob([bytes]));
    const link = document.createElement('a');
    Object.assign(link, { href: address, download: `preview.${format.toLowerCase()}` });
    link.click();
    URL.revokeObjectURL(address);
  };
  return (
    <div className="preview">
      <p className="muted">
        {counted(records, 'row')} as {format}
        {compression === null ? '' : `, ${compression}`}: {inBytes(bytes.length)}.
      </p>
      {headers !== null && (
        <pre tabIndex={0} role="region" aria-label="Headers of the request">
          {Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join('\n')}
        </pre>
      )}
      {text === null ? (
        <p className="muted">Parquet is not text. Save the file to read it.</p>
      ) : (
        <pre tabIndex={0} role="region" aria-label="The first rows in their delivered form">
          {text}
        </pre>
      )}
      <Button size="compact-sm" onClick={save}>
        Save these bytes
      </Button>
    </div>
  );
}
