// Events of SDKs per second over kept connections, what one costs the server's event loop, and the
// same through bare node:http with one INSERT for 10,000 rows, in turn in one run; and the store's
// own INSERT: npm run bench capture [--way single] [--rounds 3] [--seconds 3]
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Asked, Target, Told } from './capture/sender.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import type { Opened, Used } from './ingestion/server.ts';

const options = readBenchOptions({ way: '', rounds: '3', seconds: '3' });
const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));

async function hear<Message>(from: ChildProcess | Worker): Promise<Message> {
  return ((await once(from, 'message')) as [Message])[0];
}

async function openSide(name: string, server: ChildProcess, target: Target) {
  const sender = new Worker(new URL('./capture/sender.ts', import.meta.url), {
    workerData: target,
  });
  const ways = await hear<string[]>(sender);
  const used = () => {
    server.send('used');
    return hear<Used>(server);
  };
  const send = (asked: Asked) => {
    sender.postMessage(asked, []);
    return hear<Told>(sender);
  };
  return {
    name,
    ways,
    send,
    measure: async (way: string) => {
      const before = await used();
      const told = await send({ way, ms: Number(options.seconds) * 1_000 });
      const after = await used();
      const us = (after.processor_us - before.processor_us) / told.events;
      return { ...told, us, memory_mb: after.memory_bytes / 1e6 };
    },
    close: async () => {
      server.send('end');
      await Promise.all([once(server, 'exit'), sender.terminate()]);
    },
  };
}

type Measured = Awaited<ReturnType<Awaited<ReturnType<typeof openSide>>['measure']>>;

function show(name: string, found: Measured[]): void {
  const sum = (field: 'events' | 'ms') => found.reduce((all, one) => all + one[field], 0);
  const latencies = found.flatMap(({ latencies_ms }) => latencies_ms).toSorted((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)]!.toFixed(0);
  const us = found.reduce((all, one) => all + one.us, 0) / found.length;
  const per_second = (sum('events') / sum('ms')) * 1_000;
  console.log(
    `  ${name.padEnd(5)} ${per_second.toFixed(0)} events/s, ${us.toFixed(0)} us of processor an ` +
      `event, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, memory ` +
      `${Math.max(...found.map(({ memory_mb }) => memory_mb)).toFixed(0)} MB`,
  );
}

const server = fork(path('./ingestion/server.ts'), [path('..')]);
const ours = await openSide('ours', server, await hear<Opened>(server));
const bare_server = fork(path('./capture/bare_server.ts'));
const address = await hear<string>(bare_server);
const nothing = { project: 1, key: 'none', write_key: 'none' };
const bare = await openSide('bare', bare_server, { address, ...nothing });
for (const way of ours.ways) {
  if (!way.includes(options.way)) continue;
  console.log(way);
  const found = new Map([ours, bare].map((side) => [side, [] as Measured[]]));
  for (const side of found.keys()) await side.send({ way, ms: 1_000 });
  for (let round = 0; round < Number(options.rounds); round += 1)
    for (const [side, measured] of found) measured.push(await side.measure(way));
  for (const [side, measured] of found) show(side.name, measured);
  const [mine, other] = [...found.values()];
  const rates = (measured: Measured[]) => measured.map(({ events, ms }) => (events / ms) * 1_000);
  tell({
    what: `Events of SDKs: ${way}`,
    unit: 'events/s',
    better: 'more',
    ours: rates(mine!),
    beside: { name: 'bare node:http with one INSERT', rounds: rates(other!) },
    processor: { ours: mine!.map(({ us }) => us), beside: other!.map(({ us }) => us) },
  });
}
bare_server.send('insert');
console.log(`the store's own INSERT: ${(await hear<number>(bare_server)).toFixed(0)} rows/s`);
await ours.close();
await bare.close();
