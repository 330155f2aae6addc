import assert from 'node:assert/strict';
import { betweenFiles } from '../../between_files.ts';
import { openHarness } from '../../harness.ts';
import type { Harness } from '../../harness.ts';
import { openIngestion } from '../../../server/engine/ingest/batcher.ts';
import type { Ingestion } from '../../../server/engine/ingest/batcher.ts';
import type { IncomingEvent } from '../../../server/engine/ingest/parse/event.ts';
import { parseEvent } from '../../../server/engine/ingest/parse/parse.ts';

/** Opened before the tests of the files that import it, and closed after them. */
export let harness: Harness;

/** A separate ingestion. */
export const open = (limits?: Parameters<typeof openIngestion>[1]) =>
  openIngestion(harness.deps, limits);

/** Returns the number of a new project. */
export const newTeam = async () => (await harness.newOrganization()).project.id;

/** Returns an event as the endpoint passes it on. */
export function event(fields: Record<string, unknown> = {}): IncomingEvent {
  const read = parseEvent(
    JSON.stringify({ event: 'e', distinct_id: 'd', ...fields }),
    Date.parse('2026-01-01T00:00:00Z'),
  );
  assert.ok(read.event);
  return read.event;
}

/** Stores events and waits until they are stored. */
export async function store(ingestion: Ingestion, teamId: number, events: IncomingEvent[]) {
  const { stored } = await ingestion.add(teamId, events);
  const result = await stored;
  assert.ok(result.failure === undefined, result.failure);
  return result;
}

/** The rows of a query about a project. */
export async function select<Row>(query: string, teamId: number): Promise<Row[]> {
  return harness.deps.clickhouse.rows<Row>({ query, query_params: { team_id: teamId } });
}

/** Returns the number of rows and of uuids in a project. */
export const count = async (teamId: number) =>
  (
    await select<{ rows: number; uuids: number }>(
      'SELECT toUInt32(count()) AS rows, toUInt32(uniqExact(uuid)) AS uuids FROM events WHERE ' +
        'team_id = {team_id:Int64}',
      teamId,
    )
  )[0]!;

/** Opens the exports of this file; files that need it run one after another. */
export const openAroundTests = betweenFiles(
  async () => {
    harness = await openHarness();
  },
  () => harness.close(),
);
