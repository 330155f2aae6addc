import { StringDecoder } from 'node:string_decoder';
import type { ValueRow } from '../../../model/destination/content_source.ts';

/**
 * Yields the rows of CSV as `selectCsv` writes it, without its header, in the memory of one row. An
 * empty field without quotes is null. Throws for any other text.
 */
export async function* readCsv(bytes: AsyncIterable<Buffer>): AsyncGenerator<ValueRow> {
  const decoder = new StringDecoder('utf8');
  let held = '';
  let isHeader = true;
  for await (const chunk of bytes) {
    held += decoder.write(chunk);
    let from = 0;
    for (;;) {
      const record = recordAt(held, from);
      if (record === undefined) break;
      if (!isHeader) yield record.row;
      isHeader = false;
      from = record.end;
    }
    held = held.slice(from);
  }
  if (held !== '') throw new Error('The CSV ends in the middle of a record.');
}

/**
 * Returns the record that begins here and the position of the next one, or undefined if its end has
 * not come yet.
 */
function recordAt(text: string, from: number): { row: ValueRow; end: number } | undefined {
  const row: ValueRow = [];
  let at = from;
  for (;;) {
    const field = text[at] === '"' ? quotedField(text, at) : plainField(text, at);
    if (field === undefined) return undefined;
    const after = text[field.end];
    if (after === undefined) return undefined;
    if (after !== ',' && after !== '\n')
      throw new Error('The CSV has a quote in the middle of a field.');
    row.push(field.value);
    at = field.end + 1;
    if (after === '\n') return { row, end: at };
  }
}

type Field = { value: string | null; end: number };

function quotedField(text: string, start: number): Field | undefined {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 2)) {
    if (at === text.length - 1) return undefined;
    if (text[at + 1] !== '"')
      return { value: text.slice(start + 1, at).replaceAll('""', '"'), end: at + 1 };
  }
  return undefined;
}

function plainField(text: string, start: number): Field | undefined {
  let end = start;
  while (end < text.length && text[end] !== ',' && text[end] !== '\n') end += 1;
  return end === text.length
    ? undefined
    : { value: end === start ? null : text.slice(start, end), end };
}
