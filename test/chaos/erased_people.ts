import type { Deployment } from './deployment.ts';

/** This text is in every id and property of an erased person, and nowhere else. */
export const needle = 'zq9forgetme';

/** The path of the project. */
export const project = '/api/projects/@current/';

const batch_events = 5_000;
const old_parts_seconds = 60;

/**
 * Fills the project by the API. Half of a person's events have an id that became theirs later. The
 * store does not compress texts, so that a search finds them.
 */
export async function fill(
  deployment: Deployment,
  { events, persons }: { events: number; persons: number },
): Promise<void> {
  for (const [table, columns] of [
    ['events', ['distinct_id', 'properties', 'person_properties']],
    ['persons', ['distinct_id', 'properties', 'merged_into']],
  ] as const)
    for (const column of columns)
      await deployment.clickhouse.command({
        query: `ALTER TABLE ${table} MODIFY COLUMN ${column} String CODEC(NONE)`,
      });
  // Each erasure waits until the store has removed the replaced files. Eight minutes of waiting for
  // each erasure would prove nothing.
  for (const table of ['events', 'persons'])
    await deployment.clickhouse.command({
      query: `ALTER TABLE ${table} MODIFY SETTING old_parts_lifetime = ${old_parts_seconds}`,
    });
  const everybody = 10 * persons;
  const now = Date.now();
  for (let from = 0; from < events; from += batch_events) {
    const batch = Array.from({ length: Math.min(batch_events, events - from) }, (_none, index) => {
      const number = from + index;
      const person = number % everybody;
      const name = person < persons ? needle : 'keptperson';
      const round = Math.floor(number / everybody);
      const anonymous = `anonymous-${name}-${person}`;
      const own = `${name}-${person}@example.com`;
      return {
        event: round === 1 ? '$identify' : 'seen',
        distinct_id: round === 0 || round % 2 === 0 ? anonymous : own,
        timestamp: new Date(
          now - 3_600_000 - Math.floor((number / events) * 3_600_000),
        ).toISOString(),
        uuid: `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`,
        properties: {
          ...(round === 1 ? { $anon_distinct_id: anonymous } : {}),
          note: `${name} was here`,
          $set: { address: `${name}-${person % 7} street` },
        },
      };
    });
    await sendEvents(deployment, batch);
    // Sent again, so that an example of a warning names a person.
    if (from === 0) await sendEvents(deployment, batch.slice(0, 10));
  }
}

/** Sends events and returns the answer. Throws unless it is 200. */
export async function sendEvents(
  deployment: Deployment,
  events: object[],
): Promise<Record<string, unknown>> {
  const answer = await deployment.call('POST', `${project}events/`, { events });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body;
}
