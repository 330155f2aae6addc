import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { workOneStep } from '../../../server/engine/privacy/erasures/work.ts';
import { eventually } from '../../eventually.ts';
import type { TestOrganization } from '../../harness.ts';
import { erasing } from '../events/erasures.ts';
import type { QueryHarness, TestEvent } from './query_exports.ts';

/** The columns of the exports with rejected rows. */
export const refused_query = 'SELECT uuid, event, distinct_id, timestamp, inserted_at FROM events';

/** The table that such an export would create in PostgreSQL. */
export const refusing_columns =
  'uuid text, event text, distinct_id text, timestamp timestamptz, inserted_at timestamptz';

/** A text with this many characters that no server compresses. */
export const longText = (characters: number): string =>
  randomBytes(characters).toString('base64').slice(0, characters);

/** Good events of an hour of 1 January 2026, with a few others between them. */
export function eventsWith(hour: number, good: number, others: Partial<TestEvent>[]): TestEvent[] {
  const at = (n: number) => {
    const [minute, fraction] = [String(10 + (n % 40)), String(n).padStart(6, '0')];
    return `2026-01-01T0${hour}:${minute}:00.${fraction}Z`;
  };
  const all = Array.from({ length: good }, (_, n): Partial<TestEvent> => ({ event: `good ${n}` }));
  all.splice(Math.floor(good / 2), 0, ...others);
  return all.map((one, n) => ({ event: 'event', at: at(n), ...one }));
}

/** Erases a person whose rows the export has delivered, and returns the ended erasure. */
export async function erasePerson(
  exporting: QueryHarness,
  home: TestOrganization,
  export_id: string,
  distinct_id: string,
) {
  const { db, engine } = exporting.harness.deps;
  const { ask } = erasing(() => exporting);
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: [distinct_id] });
  const look = async () => (await ask(home, 'GET', `erasures/${asked.id}/`)).body;
  await eventually('The erasure is not over.', async () => {
    // As if minutes had passed, after which the store has removed the files of rewritten rows.
    await db.run(sql`UPDATE erasures SET due_at = '2026-01-01Z', removed_at = CASE step
      WHEN 'files' THEN '2026-01-01Z' ELSE removed_at END WHERE id = ${asked.id}`);
    await workOneStep(engine, new AbortController().signal, 0);
    await exporting.runAll(export_id);
    return (await look()).step === 'done';
  });
  return look();
}
