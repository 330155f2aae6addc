// A bare server that shows the least cost of the requests of api.ts: bare node:http, and the same
// prepared SELECT, or the same change in a transaction, through the same driver. It knows no keys,
// members, limits, log of changes or repetition. api.ts starts it with the control store's URL, the
// project's id, and the ids of the organization and of an export.
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { listBatchExports } from '../../server/api/batch_exports/store.ts';
import type { ListedExport } from '../../server/api/batch_exports/store.ts';
import { findOrganization } from '../../server/api/organizations/store.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import { json } from 'node:stream/consumers';

const [url = '', team_id = '', organization_id = '', export_id = ''] = process.argv.slice(2);
const db = openDatabase(url, { connections_max: 16, application_name: 'bench' });
const page = { limit: 100, offset: 0 };
const place = { organization_id, team_id: Number(team_id) };

/** A copy of the export under another name, and the stored row. */
function insert(name: string): Promise<unknown> {
  return db.transaction((tx) =>
    tx.row(sql`INSERT INTO batch_exports (id, team_id, name, model, destination_type,
        destination_config, "interval", timezone, paused, planned_until)
      SELECT ${uuidv7()}, team_id, ${name}, model, destination_type, destination_config, "interval",
        timezone, true, planned_until
      FROM batch_exports WHERE id = ${export_id}::uuid RETURNING *`),
  );
}

function rename(name: string): Promise<unknown> {
  return db.transaction((tx) =>
    tx.row(sql`UPDATE batch_exports SET name = ${name}, last_updated_at = now()
      WHERE id = ${export_id}::uuid RETURNING *`),
  );
}

/** Parses JSON and writes it again, as most servers do. */
const withRuns = (row: ListedExport) => ({ ...row, latest_runs: JSON.parse(row.latest_runs) });

async function answerTo(request: IncomingMessage): Promise<unknown> {
  if (request.method === 'GET')
    return request.url!.includes('/batch_exports/')
      ? { results: (await db.rows<ListedExport>(listBatchExports(place, page))).map(withRuns) }
      : findOrganization(db, organization_id, 15);
  const { name } = (await json(request)) as { name: string };
  return request.method === 'POST' ? insert(name) : rename(name);
}

const server = createServer(async (request, response) => {
  const text = JSON.stringify(await answerTo(request));
  response
    .writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    })
    .end(text);
});
server.listen(0, '127.0.0.1', () => {
  process.send!(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.on('disconnect', () => process.exit());
