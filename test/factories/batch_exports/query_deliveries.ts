import type { QueryHarness, TestEvent, TestRun } from './query_exports.ts';

/** Two events in each of the first three hours of 2026. */
export const six_events: TestEvent[] = Array.from({ length: 6 }, (_, n) => ({
  event: n % 2 === 0 ? 'view' : 'buy',
  at: `2026-01-01T0${Math.floor(n / 2)}:10:00.00000${n}Z`,
  distinct_id: `d${n % 3}`,
  properties: { n, price: n * 1.5 },
}));

/** The part of a body that delivers into a folder. */
export const toFolder = (prefix: string, config: object = {}) => ({
  destination: { type: 'File', config: { prefix, ...config } },
});

/** The values of a file of JSON lines. */
export function linesOf(bytes: Buffer | undefined): unknown[] {
  return String(bytes ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

/** Returns status and number of rows of each run, in one text. */
export const statuses = (runs: TestRun[]) =>
  runs.map(({ status, records_completed }) => `${status} ${records_completed}`);

/**
 * Delivers the query over the six events and three versions of persons, in runs of the first three
 * hours or of fewer; `hours` are its files.
 */
export async function deliver(
  exporting: QueryHarness,
  prefix: string,
  custom_query: string | null,
  more: object = {},
  hours = 3,
) {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, six_events, [
    { distinct_id: 'd0', at: '2025-12-01T00:00:00Z', version: 1, properties: { plan: 'free' } },
    { distinct_id: 'd0', at: '2026-01-01T01:30:00Z', version: 2, properties: { plan: 'pro' } },
    { distinct_id: 'd1', at: '2025-12-01T00:00:00Z', version: 1, properties: { plan: 'team' } },
  ]);
  const body = { ...toFolder(prefix), ...more, custom_query };
  const created = await exporting.scheduled(home, body, hours);
  const runs = await exporting.runAll(created.id);
  return { home, created, runs, hours: (await exporting.filesIn(prefix, '.jsonl')).map(linesOf) };
}
