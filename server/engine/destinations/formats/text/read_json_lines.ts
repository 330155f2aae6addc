import { Readable } from 'node:stream';
import type { ValueRow } from '../../../model/destination/content_source.ts';
import type { Column } from '../../../model/models/column.ts';
import { linesOf } from '../../sql_tables/tab_separated.ts';

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
type ExactJson = {
  rawJSON(text: string): unknown;
  parse(text: string, reviver: Reviver): unknown;
};
const exact = JSON as unknown as ExactJson;

/**
 * Yields the rows of JSON lines, in the memory of one line; numbers keep their text. Throws for a
 * line that is no JSON object.
 */
export async function* readJsonLines(
  bytes: AsyncIterable<Buffer>,
  columns: Pick<Column, 'name' | 'type'>[],
): AsyncGenerator<ValueRow> {
  for await (const line of linesOf(Readable.from(bytes))) {
    const row = exact.parse(line, (_key, value, { source }) =>
      typeof value === 'number' && source !== undefined ? exact.rawJSON(source) : value,
    );
    if (typeof row !== 'object' || row === null || Array.isArray(row))
      throw new Error('A line is not a JSON object.');
    yield columns.map(({ name, type }) =>
      textOf(type, (row as Record<string, unknown>)[name] ?? null),
    );
  }
}

function textOf(type: Column['type'], value: unknown): string | null {
  if (value === null) return null;
  return typeof value === 'string' && type !== 'json' ? value : JSON.stringify(value);
}
