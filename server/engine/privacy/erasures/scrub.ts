import sql from 'sql-template-tag';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import type { Database, Transaction } from '../../../platform/postgres/database.ts';
import { remakeNoted } from '../../ingest/remake.ts';
import { vacuum } from '../../model/removals/vacuum.ts';
import type { Engine } from '../../exports/engine.ts';
import type { Erasure, ErasureCounts, StepEnd } from './erasure.ts';
import { openNames } from './names.ts';
import { removeTraces } from './remove_traces.ts';
import { scrubPlaces, scrubbed_tables } from './scrub_places.ts';
import type { PlaceText, ScrubPlace } from './scrub_places.ts';
import { scrubWarnings } from './scrub_warnings.ts';

/** Ids per pass over all texts. */
const ids_per_pass = 20_000;
const texts_per_page = 200;

/**
 * Removes the persons from the control store's texts about the project's events and from the traces
 * of tools in the analytics store. The texts are examples of warnings, refused events, log lines,
 * errors, waiting work and memory of plugins. Only counts matches in the permanent storage of
 * plugins. Vacuums dead rows, so that the store's files lose them too. First exports again the
 * sessions and groups that lost events. An earlier export would be too soon, because the rewriting
 * removes their rows from tables. May be repeated.
 */
export async function scrub(
  engine: Engine,
  erasure: Erasure,
  signal: AbortSignal,
): Promise<StepEnd> {
  const { db } = engine;
  if (!(await remakeNoted(engine, erasure.team_id, erasure.id)))
    return { step: 'scrub', detail: 'Waiting for a batch of events to settle.', wait_seconds: 2 };
  await removeTraces(engine.clickhouse, erasure, signal);
  const counts: ErasureCounts = {
    warning_examples: await scrubWarnings(engine, erasure, signal),
    refused_events: await removeRefusedEvents(db, erasure),
    log_lines: 0,
    plugin_jobs: 0,
    plugin_values: 0,
  };
  for (let after = ''; ;) {
    const ids = await nextIds(engine.clickhouse, erasure.id, after, signal);
    if (ids.length === 0) break;
    after = ids.at(-1)!;
    const isNamed = openNames(ids);
    for (const place of scrubPlaces(erasure.team_id)) {
      const found = await scrubPlace(db, place, isNamed, signal);
      if (place.counted !== undefined) counts[place.counted]! += found;
    }
  }
  await vacuum(db, scrubbed_tables);
  return { step: 'files', detail: null, counts };
}

/** Returns how many texts of the place name one of the persons. */
async function scrubPlace(
  db: Database,
  { texts, scrub: change }: ScrubPlace,
  isNamed: (text: string) => Promise<boolean>,
  signal: AbortSignal,
): Promise<number> {
  let found = 0;
  await db.transaction(async (tx) => {
    for await (const page of pagesOf(tx, texts)) {
      signal.throwIfAborted();
      const those: PlaceText[] = [];
      for (const one of page) if (await isNamed(one.text)) those.push(one);
      found += those.length;
      // Outside the reading transaction, so that no lock waits for its end.
      if (those.length > 0 && change !== undefined) await db.run(change(those));
    }
  });
  return found;
}

async function* pagesOf(tx: Transaction, { text, values }: ScrubPlace['texts']) {
  await tx.text(`DECLARE texts NO SCROLL CURSOR FOR ${text}`, values);
  for (;;) {
    const { rows } = await tx.text(`FETCH ${texts_per_page} FROM texts`);
    if (rows.length === 0) return;
    yield rows as PlaceText[];
  }
}

async function nextIds(
  clickhouse: ClickHouse,
  erasure_id: string,
  after: string,
  abort_signal: AbortSignal,
): Promise<string[]> {
  const rows = await clickhouse.rows<{ distinct_id: string }>({
    query: `SELECT DISTINCT distinct_id FROM erasing_ids WHERE erasure_id = {erasure_id:UUID}
      AND distinct_id > {after:String} ORDER BY distinct_id LIMIT ${ids_per_pass}`,
    query_params: { erasure_id, after },
    abort_signal,
  });
  return rows.map(({ distinct_id }) => distinct_id);
}

/** Covers all persons: a body that could not be read may belong to any of them. */
async function removeRefusedEvents(db: Database, { team_id }: Erasure): Promise<number> {
  const rows = await db.rows(
    sql`DELETE FROM refused_events WHERE team_id = ${team_id} RETURNING id`,
  );
  return rows.length;
}
