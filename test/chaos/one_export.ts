import { createReadStream, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { fillEvents } from '../factories/events/fill_events.ts';
import { call } from '../processes/server_process.ts';

const range = { from: Date.parse('2026-01-01T00:00:00Z'), to: Date.parse('2026-01-02T00:00:00Z') };

/**
 * Fills the store of the server and starts a backfill of one day of it into files, in many slices.
 * Returns the path of the export.
 */
export async function startExport(
  wanted: { folder: string; events: number },
  address: string,
  key: string,
): Promise<string> {
  const now = Date.now();
  const clickhouse = openClickHouse(clickhouseUrl(wanted.folder), { application: 'chaos' });
  await fillEvents(clickhouse, {
    team_id: 1,
    events: wanted.events,
    ...range,
    inserted_from: now - 86_400_000,
    inserted_to: now - 60_000,
  });
  await clickhouse.close();
  // Small files make many slices, so that a kill falls between and into them.
  const created = await call(address, key, 'POST', '/api/projects/1/batch_exports/', {
    name: 'chaos',
    interval: 'day',
    destination: {
      type: 'File',
      config: { prefix: 'chaos', file_format: 'JSONLines', max_file_size_mb: 20 },
    },
  });
  const path = `/api/projects/1/batch_exports/${String(created.body['id'])}`;
  const answer = await call(address, key, 'POST', `${path}/backfill/`, {
    start_at: new Date(range.from).toISOString(),
    end_at: new Date(range.to).toISOString(),
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return path;
}

function clickhouseUrl(folder: string): string {
  return (
    JSON.parse(readFileSync(join(folder, 'data/running.json'), 'utf8')) as {
      clickhouse_url: string;
    }
  ).clickhouse_url;
}

/**
 * Counts the source's rows in the files, by uuid. Throws if anything was left behind beside them.
 */
export async function compareFiles(
  folder: string,
): Promise<{ source: number; delivered: number; lost: number; doubled: number }> {
  const clickhouse = openClickHouse(clickhouseUrl(folder), { application: 'chaos' });
  const wanted = new Set<string>();
  const answer = await clickhouse.query({
    query: 'SELECT toString(uuid) AS uuid FROM events',
    format: 'JSONEachRow',
  });
  for await (const rows of answer.stream<{ uuid: string }>())
    for (const row of rows) wanted.add(row.json().uuid);
  await clickhouse.close();
  const source = wanted.size;
  let delivered = 0;
  let doubled = 0;
  const exported = join(folder, 'exports/chaos');
  const names = readdirSync(exported);
  const leftovers = names.filter((name) => name.startsWith('.'));
  if (leftovers.length > 0) throw new Error(`Left behind: ${leftovers.join(', ')}`);
  for (const name of names.filter((one) => one.endsWith('.jsonl'))) {
    for await (const line of createInterface({ input: createReadStream(join(exported, name)) })) {
      delivered += 1;
      if (!wanted.delete((JSON.parse(line) as { uuid: string }).uuid)) doubled += 1;
    }
  }
  return { source, delivered, lost: wanted.size, doubled };
}
