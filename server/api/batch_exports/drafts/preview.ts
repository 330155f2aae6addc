import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Engine } from '../../../engine/exports/engine.ts';
import { rowsOf } from '../../../engine/destinations/sql_tables/tab_separated.ts';
import { encodeStage } from '../../../engine/destinations/formats/encode_stage.ts';
import { toStored } from '../../../engine/model/ledger/rectangles.ts';
import { openSourceQuery } from '../../../engine/exports/source/source_query.ts';
import { readFirst } from '../../../engine/exports/source/source.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { invalid } from '../../../platform/http/errors.ts';
import { isBinary } from '../../../engine/model/destination/encoding.ts';
import type { Encoding } from '../../../engine/model/destination/encoding.ts';
import type { Draft } from './draft.ts';
import { readingNow } from './reading_now.ts';

const mebibyte = 1024 * 1024;
/** Most rows in a preview, and the size from which the first row is shown alone. */
const shown = [
  { count: 10, bytes_max: 4 * mebibyte },
  { count: 1, bytes_max: 16 * mebibyte },
];
/** The encoding that is parsed into cell texts. */
const readable: Encoding = { format: 'TabSeparated', compression: null, is_exact: true };
/** Longest text of a value in `rows`, in characters. */
const cell_characters_max = 200;
const everything = toStored([
  { event_from: -Infinity, event_to: Infinity, inserted_from: -Infinity, inserted_to: Infinity },
]);

/**
 * Returns the draft's oldest rows, or the first rows of its query, in the bytes that a run would
 * write. They have no secrets. Throws 400 if the first row is too long: the answer has its bytes
 * three times, and building it blocks other requests.
 */
export async function preview(engine: Engine, organization_id: string, draft: Draft) {
  const encoding = draft.definition.encoding(draft.config);
  const source = {
    ...draft,
    destination_config: draft.config,
    selection: everything,
    data_interval_end: isoInstant(engine.clock.now()),
  };
  const { custom_query } = draft;
  const asked = { attr: 'custom_query', custom_query, organization_id };
  const read = await readingNow(engine, asked, async (store, signal) => {
    const reading = await openSourceQuery(store, source);
    for (const wanted of shown) {
      const first = (as: Encoding) => readFirst(store, reading, wanted, draft.columns, as, signal);
      const written = await first(encoding);
      if (written !== undefined) return { written, texts: await first(readable) };
    }
    return undefined;
  });
  if (read === undefined)
    throw invalid(
      null,
      'max_length',
      'The first row is larger than 16 MiB, which is too large to show.',
    );
  const { written, texts } = read;
  const table = { columns: draft.columns.map(({ name }) => name), rows: await cellsOf(texts) };
  if (draft.definition.showRequest !== undefined) {
    const { body, ...request } = await draft.definition.showRequest(draft.config, written);
    return { ...request, ...table, base64: body.toString('base64') };
  }
  const stage = encodeStage(encoding);
  const final = await buffer(stage.pipeline(Readable.from([written], { objectMode: false })));
  return {
    format: encoding.format,
    compression: encoding.compression,
    records: stage.finish().records,
    headers: null,
    text: isBinary(encoding) ? null : written.toString(),
    base64: final.toString('base64'),
    ...table,
  };
}

/** Returns the rows as texts; none if they are too long. */
async function cellsOf(texts: Buffer | undefined): Promise<(string | null)[][]> {
  const rows: (string | null)[][] = [];
  for await (const row of rowsOf(Readable.from(texts === undefined ? [] : [texts])))
    rows.push(row.map(cellOf));
  return rows;
}

function cellOf(value: string | null): string | null {
  return value === null || value.length <= cell_characters_max
    ? value
    : `${value.slice(0, cell_characters_max).toWellFormed()}…`;
}
