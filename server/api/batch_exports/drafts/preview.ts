import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Engine } from '../../../engine/engine.ts';
import { encodeStage } from '../../../engine/formats/encode_stage.ts';
import { toStored } from '../../../engine/ledger/rectangles.ts';
import { openSourceQuery } from '../../../engine/source/source_query.ts';
import { readFirst } from '../../../engine/source/source.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Draft } from './draft.ts';
import { readingNow } from './reading_now.ts';

/** How many rows a preview shows. */
const records_max = 10;
const everything = toStored([
  { event_from: -Infinity, event_to: Infinity, inserted_from: -Infinity, inserted_to: Infinity },
]);

/**
 * The draft's oldest rows, or the first that its query makes of everything, in the bytes that its
 * destination would get, written the same way as a run writes them; no secret is in them.
 */
export async function preview(engine: Engine, draft: Draft) {
  const encoding = draft.definition.encoding(draft.config);
  const source = {
    ...draft,
    destination_config: draft.config,
    selection: everything,
    data_interval_end: isoInstant(engine.clock.now()),
  };
  const written = await readingNow(engine, 'custom_query', async (store, signal) =>
    readFirst(
      store,
      await openSourceQuery(store, source),
      records_max,
      draft.columns,
      encoding,
      signal,
    ),
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
