// Measures whether weeks of hourly backfill make a worker grow: one export, 1008 intervals (six
// weeks) with a few events in each. Prints the server's memory before, at four points on the way
// and after, and how many runs ended in a second.
//   npm run bench backfill_memory [-- --hours 1008]
import { fillEvents } from '../test/factories/events/fill_events.ts';
import { until } from '../test/processes/server_process.ts';
import { openBenchServer } from './measure/bench_server.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import { memoryOf, treeOf } from './measure/process_memory.ts';

const hours = Number(readBenchOptions({ hours: '1008', rounds: '1' }).hours);
const hour_ms = 3_600_000;
const events_per_hour = 20;
const server = await openBenchServer();
const { api, clickhouse } = server;
try {
  const to = Math.floor(Date.now() / hour_ms) * hour_ms - hour_ms;
  const from = to - hours * hour_ms;
  await fillEvents(clickhouse, {
    team_id: 1,
    events: hours * events_per_hour,
    from,
    to,
    inserted_from: to,
    inserted_to: to + 60_000,
  });
  const created = await api('POST', '/api/projects/1/batch_exports/', {
    name: 'Six weeks',
    interval: 'hour',
    destination: { type: 'File', config: { prefix: 'weeks' } },
  });
  const path = `/api/projects/1/batch_exports/${String(created['id'])}`;
  const tree = treeOf(server.child.pid!);
  const memory = () => {
    const { by_process } = memoryOf('private', tree);
    return by_process.find(({ pid }) => pid === server.child.pid)?.megabytes ?? 0;
  };
  const before = memory();
  const started = performance.now();
  const { backfill } = (await api('POST', `${path}/backfill/`, {
    start_at: new Date(from).toISOString(),
    end_at: new Date(to).toISOString(),
  })) as { backfill: { id: string } };
  const quarters: number[] = [];
  await until('the backfill', 1_800_000, 500, async () => {
    const found = await api('GET', `${path}/backfills/${backfill.id}/`);
    const { finished_runs } = found['progress'] as { finished_runs: number };
    if (finished_runs >= ((quarters.length + 1) * hours) / 4) quarters.push(memory());
    return found['finished_at'] === null ? undefined : true;
  });
  const seconds = (performance.now() - started) / 1000;
  const what = `A backfill of ${hours} runs of ${events_per_hour} rows to File`;
  tell({ what, unit: 'runs/s', better: 'more', ours: [hours / seconds] });
  tell({
    what: `${what}: memory of the server after each quarter`,
    unit: 'MB',
    better: 'less',
    ours: quarters,
    beside: { name: 'before', rounds: quarters.map(() => before) },
  });
} finally {
  await server.close();
}
