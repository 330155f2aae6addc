// Measures a backfill in which all but a few runs have no rows: one export every five minutes, and
// as many intervals as the argument says. Prints the time of the backfill, and the longest answer
// of the API meanwhile.
//   npm run bench empty_backfill [-- --runs 500000 --rounds 1]
import { until } from '../test/processes/server_process.ts';
import { openBenchServer } from './measure/bench_server.ts';
import { readBenchOptions, tell } from './measure/figures.ts';

const options = readBenchOptions({ runs: '500000', rounds: '1' });
const runs = Number(options.runs);
const five_minutes_ms = 300_000;
const server = await openBenchServer();
const { api } = server;
const rates: number[] = [];
const slowest: number[] = [];

async function backfill(): Promise<void> {
  const to = Math.floor(Date.now() / five_minutes_ms) * five_minutes_ms;
  const from = to - runs * five_minutes_ms;
  const at = (share: number) => new Date(from + share * (to - from)).toISOString();
  const events = [0.1, 0.5, 0.9].map((share) => ({
    event: 'e',
    distinct_id: 'd',
    timestamp: at(share),
  }));
  const { id: team_id } = await api('POST', '/api/projects/', { name: 'Years' });
  const project = `/api/projects/${String(team_id)}`;
  await api('POST', `${project}/events/`, { events });
  const created = await api('POST', `${project}/batch_exports/`, {
    name: 'Years',
    interval: 'every 5 minutes',
    destination: { type: 'File', config: { prefix: 'years' } },
  });
  const path = `${project}/batch_exports/${String(created['id'])}`;
  const started = performance.now();
  const answer = await api('POST', `${path}/backfill/`, {
    start_at: at(0),
    end_at: at(1),
  });
  const { id } = answer['backfill'] as { id: string };
  let most = 0;
  await until('the backfill', 1_800_000, 50, async () => {
    const asked = performance.now();
    await api('GET', `${project}/`);
    most = Math.max(most, performance.now() - asked);
    const listed = await api('GET', `${path}/backfills/?limit=1`);
    const [newest] = listed['results'] as { id: string; finished_at: string | null }[];
    return newest!.id === id && newest!.finished_at !== null ? newest! : undefined;
  });
  rates.push((runs * 1_000) / (performance.now() - started));
  slowest.push(most);
}

try {
  for (let round = 0; round < Number(options.rounds); round += 1) await backfill();
  const what = `A backfill of ${runs} intervals, three with rows`;
  tell({ what, unit: 'runs/s', better: 'more', ours: rates });
  tell({ what: `${what}: slowest answer of the API`, unit: 'ms', better: 'less', ours: slowest });
} finally {
  await server.close();
}
