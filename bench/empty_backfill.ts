// How long a backfill takes whose runs have no rows but for a few: one export every five minutes,
// and as many intervals as the argument says. Prints how long an answer of the API took at most
// meanwhile. Run: npm run bench empty_backfill [500000]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeApiKey } from '../server/platform/http/caller/api_key.ts';
import { call, serverEnvironment, startServer, until } from '../test/processes/server_process.ts';

const runs = Number(process.argv[2] ?? '500000');
const five_minutes_ms = 300_000;
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
const key = makeApiKey();
const server = await startServer(['start'], serverEnvironment(folder, key));
try {
  const to = Math.floor(Date.now() / five_minutes_ms) * five_minutes_ms;
  const from = to - runs * five_minutes_ms;
  const at = (share: number) => new Date(from + share * (to - from)).toISOString();
  const events = [0.1, 0.5, 0.9].map((share) => ({
    event: 'e',
    distinct_id: 'd',
    timestamp: at(share),
  }));
  await call(server.address, key, 'POST', '/api/projects/@current/events/', { events });
  const created = await call(server.address, key, 'POST', '/api/projects/@current/batch_exports/', {
    name: 'Years',
    interval: 'every 5 minutes',
    destination: { type: 'File', config: { prefix: 'years' } },
  });
  const path = `/api/projects/@current/batch_exports/${String(created.body['id'])}`;
  const started = performance.now();
  const answer = await call(server.address, key, 'POST', `${path}/backfill/`, {
    start_at: at(0),
    end_at: at(1),
  });
  const { id, detail } = answer.body['backfill'] as { id: string; detail: string };
  console.log(detail);
  let slowest = 0;
  const ended = await until('the backfill', 1_800_000, 50, async () => {
    const asked = performance.now();
    await call(server.address, key, 'GET', '/api/projects/@current/');
    slowest = Math.max(slowest, performance.now() - asked);
    const { body } = await call(server.address, key, 'GET', `${path}/backfills/?limit=1`);
    const [backfill] = body['results'] as {
      id: string;
      finished_at: string | null;
      detail: string;
      progress: object;
    }[];
    return backfill!.id === id && backfill!.finished_at !== null ? backfill! : undefined;
  });
  const seconds = (performance.now() - started) / 1000;
  console.log(
    `${ended.detail} ${JSON.stringify(ended.progress)} After ${seconds.toFixed(1)} s, ` +
      `${(runs / seconds).toFixed(0)} runs/s; the slowest answer took ${slowest.toFixed(0)} ms.`,
  );
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
