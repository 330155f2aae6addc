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

/** An ingestion of its own. */
export const open = (limits?: Parameters<typeof openIngestion>[1]) =>
  openIngestion(harness.deps, limits);

/** The number of a new project. */
export const newTeam = async () => (await harness.newOrganization()).project.id;

/** An event as it comes from the endpoint. */
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

/** Returns how many rows and uuids a project has. */
export const count = async (teamId: number) =>
  (
    await select<{ rows: number; uuids: number }>(
      'SELECT toUInt32(count()) AS rows, toUInt32(uniqExact(uuid)) AS uuids FROM events WHERE ' +
        'team_id = {team_id:Int64}',
      teamId,
    )
  )[0]!;

/** Opens what this file exports; for files that need it, one after the other. */
export const openAroundTests = betweenFiles(
  async () => {
    harness = await openHarness();
  },
  () => harness.close(),
);
