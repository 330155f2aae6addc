import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Engine } from '../../engine/engine.ts';
import { encodeStage } from '../../engine/formats/encode_stage.ts';
import { selectFor } from '../../engine/formats/select.ts';
import { models } from '../../engine/models/index.ts';
import { whileWaiting } from './bounded.ts';
import type { Draft } from './draft.ts';

/** How many rows a preview shows. */
const records_max = 10;

/** The draft's oldest rows in the bytes that its destination would get, written the same way as a run writes them. */
export async function preview(engine: Engine, draft: Draft) {
  const model = models[draft.model];
  const encoding = draft.definition.encoding(draft.config);
  const relation = model.relation(draft.team_id, [{ event_from: -Infinity, event_to: Infinity, inserted_from: -Infinity, inserted_to: Infinity }]);
  const select = selectFor(encoding, model.columns[draft.definition.column_set]);
  const written = await whileWaiting(async (signal) => {
    const { stream } = await engine.clickhouse.exec({
      query: `SELECT ${select.expressions} FROM (SELECT * FROM ${relation.text} ORDER BY ${model.order} LIMIT ${records_max}) ORDER BY ${model.order} FORMAT ${select.format}`,
      query_params: relation.parameters,
      clickhouse_settings: select.settings,
      abort_signal: signal,
    });
    return buffer(stream);
  });
  const stage = encodeStage(encoding);
  const final = await buffer(stage.pipeline(Readable.from([written], { objectMode: false })));
  return {
    format: encoding.format,
    compression: encoding.compression,
    records: stage.finish().records,
    text: encoding.format === 'Parquet' ? null : written.toString(),
    base64: final.toString('base64'),
  };
}
