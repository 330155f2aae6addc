// A process that ingests the events of random sequences. The test kills it in the middle.
// Arguments: PostgreSQL URL, ClickHouse URL, team id, number of the first batch, seed, project,
// sequences. For each stored batch, standard output has a line with its number; the process ends
// with the last batch.
import { writeSync } from 'node:fs';
import { openIngestion } from '../../server/engine/ingest/batcher.ts';
import { parseEvent } from '../../server/engine/ingest/parse/parse.ts';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { systemClock } from '../../server/platform/clock.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openSecrets } from '../../server/platform/secrets/secrets.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import { batchesOf, eventsOf } from '../identities/sequences.ts';

const [database_url = '', clickhouse_url = '', ...numbers] = process.argv.slice(2);
const [team_id = 0, first = 0, seed = 0, project = 0, sequences = 0] = numbers.map(Number);
const db = openDatabase(database_url, { connections_max: 3, application_name: 'identities' });
const clickhouse = openClickHouse(clickhouse_url, { application: 'identities' });
const ingestion = openIngestion({
  db,
  clickhouse,
  clock: systemClock,
  log: silentLog(),
  secrets: openSecrets('a secret'),
});

const batches = batchesOf(seed, project, eventsOf(seed, project, sequences));
let failures = 0;
for (let number = first; number < batches.length;) {
  const events = batches[number]!.map((sent) => {
    const read = parseEvent(JSON.stringify(sent), systemClock.now());
    if (read.event === undefined) throw new Error('The event is wrong.');
    return read.event;
  });
  const result = await (await ingestion.add(team_id, events)).stored;
  // A process after a killed one waits for its leftovers.
  if (result.failure !== undefined && (failures += 1) < 1_000) continue;
  if (result.failure !== undefined) throw new Error(`Batch ${number} is not stored.`);
  writeSync(1, `${number}\n`);
  number += 1;
}
await ingestion.drain();
await Promise.all([db.close(), clickhouse.close()]);
