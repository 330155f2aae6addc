// Measures the effect of an export on readers of the API: the 99th percentile of GET of a list of
// exports at 300 requests a second, idle and while millions of events are exported to `File`. API
// and worker run in one process (`start`) and in two (`api`, `worker`); if the machine allows it,
// with the right to raise priorities (CAP_SYS_NICE) and without.
//   npm run bench api_while_exporting [-- --events 8000000 --rounds 2 --way "start, without"]
import { spawn } from 'node:child_process';
import { Agent, get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../server/platform/embedded/programs.ts';
import { mayRaisePriority } from '../server/platform/processes/process_priority.ts';
import { until } from '../test/processes/server_process.ts';
import { beginYesterday, fillYesterday, openBenchServer } from './measure/bench_server.ts';
import { readBenchOptions, tell } from './measure/figures.ts';

type Result = { failed: number; p50: number; p99: number };

const requests_per_second = 300;
const warm_up_seconds = 4;
const duration_seconds = 10;

/**
 * The load is another process, so that its waits are not this process's. It has priority where the
 * system allows that, because it stands for other machines.
 */
async function measure(url: string, key: string): Promise<Result> {
  const words = [process.execPath, fileURLToPath(import.meta.url), 'load', url, key];
  const first = hasRight && chrt !== undefined ? [chrt, '--fifo', '1'] : [];
  const [program, ...rest] = [...first, ...words];
  const child = spawn(program!, rest, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  const result = await new Promise<Result>((resolve, reject) => {
    child.on('message', (message) => resolve(message as Result));
    child.on('exit', (code) => reject(new Error(`load ended with ${code}`)));
  });
  child.disconnect();
  if (result.failed > 0) throw new Error(`${result.failed} requests were not answered with 200`);
  return result;
}

/**
 * Sends a request at each of the evenly spaced instants, whether or not earlier ones were answered,
 * and measures each from its instant. A stalled server does not slow the load down.
 */
async function load(url: string, key: string): Promise<Result> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const took: number[] = [];
  let failed = 0;
  const ask = (due: number) =>
    new Promise<number>((resolve) => {
      const note = (status: number | undefined) => {
        if (status !== 200) failed += 1;
        resolve(performance.now() - due);
      };
      const request = get(url, { agent, headers: { authorization: `Bearer ${key}` } }, (answer) => {
        answer.resume();
        answer.on('end', () => note(answer.statusCode));
      });
      request.on('error', () => note(undefined));
    });
  const begun = performance.now();
  const asked: Promise<void>[] = [];
  for (
    let count = 0;
    count < requests_per_second * (warm_up_seconds + duration_seconds);
    count += 1
  ) {
    const due = begun + (count * 1000) / requests_per_second;
    await pause(Math.max(0, due - performance.now()));
    const isMeasured = count >= requests_per_second * warm_up_seconds;
    asked.push(ask(due).then((milliseconds) => void (isMeasured ? took.push(milliseconds) : 0)));
  }
  await Promise.all(asked);
  agent.destroy();
  took.sort((one, other) => one - other);
  const at = (share: number) => Math.round(took[Math.floor(took.length * share)]! * 10) / 10;
  return { failed, p50: at(0.5), p99: at(0.99) };
}

async function compare(name: string, commands: string[], before: string[]): Promise<void> {
  const server = await openBenchServer(commands, before);
  const { address, key, api } = server;
  try {
    const team_id = await fillYesterday(server, Number(options.events));
    const list = `${address}/api/projects/${team_id}/batch_exports/`;
    const idle: Result[] = [];
    const busy: Result[] = [];
    for (let round = 0; round < Number(options.rounds); round += 1) {
      idle.push(await measure(list, key));
      const path = await beginYesterday(server, team_id, {
        type: 'File',
        config: { prefix: 'large' },
      });
      const status = async () =>
        ((await api('GET', `${path}/runs/`))['results'] as { status: string }[])[0]?.status;
      await until('the run to begin', 60_000, 50, async () =>
        (await status()) === 'Running' ? true : undefined,
      );
      busy.push(await measure(list, key));
      if ((await status()) !== 'Running')
        throw new Error('The run was over before the measurement: take more events.');
      await api('DELETE', `${path}/`);
    }
    for (const share of ['p50', 'p99'] as const)
      tell({
        what: `300 reads a second beside an export, ${name}: ${share}`,
        unit: 'ms',
        better: 'less',
        ours: busy.map((one) => one[share]),
        beside: { name: 'without the export', rounds: idle.map((one) => one[share]) },
        aim: share === 'p99' ? { value: 25 } : undefined,
      });
  } finally {
    await server.close();
  }
}

/** The command that starts the server, by its note on the right to raise priorities. */
function rights(): Record<string, string[]> {
  if (!hasRight) return { ', without the right to raise priorities': [] };
  const setpriv = findProgram('setpriv');
  if (setpriv === undefined) return { '': [] };
  const without = [setpriv, '--bounding-set=-sys_nice', '--inh-caps=-sys_nice'];
  return { '': [], ', without the right to raise priorities': without };
}

const [first] = process.argv.slice(2);
const defaults = { events: '8000000', rounds: '2', way: '' };
const options = first === 'load' ? defaults : readBenchOptions(defaults);
const hasRight = mayRaisePriority();
const chrt = findProgram('chrt');
if (first === 'load') process.send?.(await load(process.argv[3]!, process.argv[4]!));
else
  for (const commands of [['start'], ['api', 'worker']])
    for (const [said, before] of Object.entries(rights())) {
      const name = `${commands.join(' and ')}${said}`;
      if (name.startsWith(options.way)) await compare(name, commands, before);
    }
