import sql from 'sql-template-tag';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { inlineTexts, inline_settings } from '../../../platform/clickhouse/inline_texts.ts';
import type { WarningExample } from '../../ingest/warnings/warning.ts';
import type { Engine } from '../../exports/engine.ts';
import type { Erasure } from './erasure.ts';

type WarningRow = { hour: string; reason: string; examples: (WarningExample & { at: string })[] };

const rows_per_page = 200;

/**
 * Removes the examples of warnings that belong to the erasure, by distinct id, sent value or event
 * uuid. The counts stay. Returns the number of removed examples.
 */
export async function scrubWarnings(
  { db, clickhouse }: Engine,
  { id, team_id }: Erasure,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  let last: Pick<WarningRow, 'hour' | 'reason'> = { hour: '-infinity', reason: '' };
  for (;;) {
    const page = await db.rows<WarningRow>(sql`
      SELECT hour, reason, examples FROM ingestion_warnings WHERE team_id = ${team_id}
        AND (hour, reason) > (${last.hour}::timestamptz, ${last.reason})
      ORDER BY hour, reason LIMIT ${rows_per_page}`);
    if (page.length === 0) return removed;
    last = page.at(-1)!;
    const texts = page.flatMap(({ examples }) => examples.flatMap(textsOf));
    const erased = await findErased(clickhouse, id, [...new Set(texts)], signal);
    for (const { hour, reason, examples } of page) {
      const kept = examples.filter((example) => !textsOf(example).some((text) => erased.has(text)));
      if (kept.length === examples.length) continue;
      removed += examples.length - kept.length;
      // Warnings that arrived meanwhile concern no erased person.
      await db.run(sql`
        UPDATE ingestion_warnings SET examples = (
          SELECT coalesce(jsonb_agg(one ORDER BY place), '[]') FROM jsonb_array_elements(examples)
            WITH ORDINALITY AS e (one, place)
          WHERE NOT one IN (SELECT jsonb_array_elements(${JSON.stringify(
            examples.filter((example) => !kept.includes(example)),
          )}::jsonb)))
        WHERE team_id = ${team_id} AND hour = ${hour}::timestamptz AND reason = ${reason}`);
    }
  }
}

function textsOf({ distinct_id, uuid, sent }: WarningExample): string[] {
  return [distinct_id, uuid, sent].filter((text) => text !== undefined);
}

/** Finds the texts that belong to the erasure; long examples are cut and end with a mark. */
async function findErased(
  clickhouse: ClickHouse,
  erasure_id: string,
  texts: string[],
  abort_signal: AbortSignal,
): Promise<Set<string>> {
  const found = new Set<string>();
  if (texts.length === 0) return found;
  const cut = texts.filter((text) => text.endsWith('…')).map((text) => text.slice(0, -1));
  const rows = await clickhouse.rows<{ text: string }>({
    query: `SELECT text FROM (${inlineTexts(texts, 'text')})
        WHERE text IN (SELECT distinct_id FROM erasing_ids WHERE erasure_id = {erasure_id:UUID})
          OR text IN (SELECT key FROM erasing_rows WHERE erasure_id = {erasure_id:UUID})
      UNION ALL
      SELECT concat(start, '…') AS text FROM (${inlineTexts(cut, 'start')})
        WHERE arrayExists(id -> startsWith(id, start), (SELECT groupArray(distinct_id)
          FROM erasing_ids WHERE erasure_id = {erasure_id:UUID} AND length(distinct_id) >= 200))`,
    query_params: { erasure_id },
    clickhouse_settings: inline_settings,
    abort_signal,
  });
  for (const { text } of rows) found.add(text);
  return found;
}
