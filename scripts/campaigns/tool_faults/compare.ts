import sql from 'sql-template-tag';
import type { Database } from '../../../server/platform/postgres/database.ts';
import { until } from '../../../test/processes/server_process.ts';
import type { Arrival } from './receiver.ts';

/** Longest absence of a killed process. */
const restart_ms = 15_000;

/** The events and mappings that a log reports as sent again. */
export async function toldRepeats(db: Database): Promise<Set<string>> {
  const rows = await until('the log', 60_000, 500, () =>
    db
      .rows<{ message: string }>(
        sql`SELECT message FROM plugin_logs WHERE message LIKE 'Sent the event % again at %'`,
      )
      .catch(() => undefined),
  );
  return new Set(
    rows.flatMap(({ message }) => {
      const [, uuid, mapping] = /^Sent the event (\S+) again at "([^"]+)"/.exec(message) ?? [];
      return uuid === undefined ? [] : [`${uuid} ${mapping}`];
    }),
  );
}

/**
 * An event may arrive again only if a log reports it, or after a lost answer or a kill since its
 * arrival. On a busy machine a worker may also lose its lease, which the log reports.
 */
export function checkDoubles(
  path: string,
  arrivals: Arrival[],
  told: Set<string>,
  kills: { at: number }[],
  faults: string[],
): { doubled: number; untold: number } {
  const before = new Map<string, Arrival>();
  const untold = new Set<string>();
  let doubled = 0;
  for (const arrival of arrivals) {
    const earlier = before.get(arrival.uuid);
    before.set(arrival.uuid, arrival);
    if (earlier === undefined) continue;
    doubled += 1;
    const isTold = told.has(`${arrival.uuid} ${path}`);
    if (!isTold) untold.add(arrival.uuid);
    const isExplained =
      isTold ||
      earlier.is_lost ||
      kills.some(({ at }) => at >= earlier.at - restart_ms && at <= arrival.at);
    if (!isExplained) faults.push(`${path}: ${arrival.uuid} came again, and no answer was lost`);
  }
  return { doubled, untold: untold.size };
}

/**
 * With keys, each event is kept exactly once: a repeat has the first key, and no key stands for two
 * events.
 */
export function checkKeys(
  path: string,
  events: number,
  arrivals: Arrival[],
  kept: Map<string, number>,
  faults: string[],
): number {
  const numbers = [...kept.values()];
  if (numbers.length !== events || new Set(numbers).size !== events)
    faults.push(`${path}: ${numbers.length} kept by key, ${new Set(numbers).size} of ${events}`);
  const keys = new Map<number, string>();
  let repeats = 0;
  for (const { number, uuid } of arrivals) {
    const first = keys.get(number);
    if (first === undefined) keys.set(number, uuid);
    else if (first === uuid) repeats += 1;
    else faults.push(`${path}: ${number} came again as ${uuid}, and first as ${first}`);
  }
  return repeats;
}

/** The events of each person first arrive in the order of the store. */
export function checkOrder(
  path: string,
  arrivals: Arrival[],
  order: Map<string, number>,
  personOf: Map<string, string>,
  faults: string[],
): void {
  const last = new Map<string, number>();
  const seen = new Set<string>();
  for (const { uuid } of arrivals) {
    if (seen.has(uuid)) continue;
    seen.add(uuid);
    const [at, person] = [order.get(uuid)!, personOf.get(uuid)!];
    if (at < (last.get(person) ?? -1)) faults.push(`${path}: ${uuid} of ${person} came too late`);
    last.set(person, at);
  }
}
