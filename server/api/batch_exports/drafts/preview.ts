import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Engine } from '../../../engine/exports/engine.ts';
import { encodeStage } from '../../../engine/destinations/formats/encode_stage.ts';
import { toStored } from '../../../engine/model/ledger/rectangles.ts';
import { openSourceQuery } from '../../../engine/exports/source/source_query.ts';
import { readFirst } from '../../../engine/exports/source/source.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { invalid } from '../../../platform/http/errors.ts';
import type { Draft } from './draft.ts';
import { readingNow } from './reading_now.ts';

const mebibyte = 1024 * 1024;
/** Number of rows in a preview, and the size from which the first row stands alone. */
const shown = [
  { count: 10, bytes_max: 4 * mebibyte },
  { count: 1, bytes_max: 16 * mebibyte },
];
const everything = toStored([
  { event_from: -Infinity, event_to: Infinity, inserted_from: -Infinity, inserted_to: Infinity },
]);

/**
 * The draft's oldest rows, or the first that its query makes of everything, in the bytes that its
 * destination would get, written the same way as a run writes them; no secret is in them. Throws
 * 400 for a first row that is too long to be shown: the answer has its bytes three times, and
 * nobody else is answered while it is put together.
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
  const written = await readingNow(engine, asked, async (store, signal) => {
    const reading = await openSourceQuery(store, source);
    for (const wanted of shown) {
      const bytes = await readFirst(store, reading, wanted, draft.columns, encoding, signal);
      if (bytes !== undefined) return bytes;
    }
    return undefined;
  });
  if (written === undefined)
    throw invalid(
      null,
      'max_length',
      'The first row has more than 16 MiB, which is too long to be shown.',
    );
  if (draft.definition.showRequest !== undefined) {
    const { body, ...request } = await draft.definition.showRequest(draft.config, written);
    return { ...request, base64: body.toString('base64') };
  }
  const stage = encodeStage(encoding);
  const final = await buffer(stage.pipeline(Readable.from([written], { objectMode: false })));
  return {
    format: encoding.format,
    compression: encoding.compression,
    records: stage.finish().records,
    headers: null,
    text: encoding.format === 'Parquet' ? null : written.toString(),
    base64: final.toString('base64'),
  };
}
