// Events per second into the endpoint over real HTTP, and what one costs the server's event loop:
// npm run bench ingestion [--before <folder of another checkout>] [--way single] [--rounds 5]
// With another checkout both take turns, so that a busy machine slows both down alike.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Asked, Sent } from './ingestion/sender.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import { median } from './measure/median.ts';
import type { Opened, Used } from './ingestion/server.ts';

const options = readBenchOptions({ before: '', way: '', rounds: '3', seconds: '2' });
const warm_up_ms = 1_500;
const here = fileURLToPath(new URL('..', import.meta.url));

type Measured = { per_second: number; us: number; latencies_ms: number[]; memory_mb: number };

async function openSide(folder: string) {
  const server = fork(fileURLToPath(new URL('./ingestion/server.ts', import.meta.url)), [folder]);
  const [opened] = (await once(server, 'message')) as [Opened];
  const sender = new Worker(new URL('./ingestion/sender.ts', import.meta.url), {
    workerData: opened,
  });
  const [ways] = (await once(sender, 'message')) as [string[]];
  const used = async () => {
    server.send('used');
    return ((await once(server, 'message')) as [Used])[0];
  };
  const send = async (asked: Asked) => {
    sender.postMessage(asked, []);
    return ((await once(sender, 'message')) as [Sent])[0];
  };
  return {
    ways,
    warmUp: (way: string) => send({ way, ms: warm_up_ms }),
    measure: async (way: string): Promise<Measured> => {
      const before = await used();
      const { taken, ms, latencies_ms } = await send({ way, ms: Number(options.seconds) * 1_000 });
      const { processor_us, memory_bytes } = await used();
      return {
        per_second: (taken / ms) * 1_000,
        us: (processor_us - before.processor_us) / taken,
        latencies_ms,
        memory_mb: memory_bytes / 1e6,
      };
    },
    close: async () => {
      server.send('end');
      await Promise.all([once(server, 'exit'), sender.terminate()]);
    },
  };
}

const folders = options.before === '' ? [here] : [options.before, here];
const sides = await Promise.all(folders.map(openSide));
for (const way of sides[0]!.ways) {
  if (!way.includes(options.way)) continue;
  console.log(way);
  const found = sides.map((): Measured[] => []);
  for (const side of sides) await side.warmUp(way);
  for (let round = 0; round < Number(options.rounds); round += 1)
    // Each server is the first one equally often.
    for (const turn of sides.keys()) {
      const index = (turn + round) % sides.length;
      found[index]!.push(await sides[index]!.measure(way));
    }
  const now = found.at(-1)!;
  const before = found.length === 1 ? undefined : found[0]!;
  const of = (field: 'per_second' | 'us', measured: Measured[]) =>
    measured.map((one) => one[field]);
  tell({
    what: `Events by the API: ${way}`,
    unit: 'events/s',
    better: 'more',
    ours: of('per_second', now),
    ...(before === undefined
      ? {}
      : {
          beside: { name: options.before, rounds: of('per_second', before) },
          processor: { ours: of('us', now), beside: of('us', before) },
        }),
  });
  const latencies = now.flatMap(({ latencies_ms }) => latencies_ms).toSorted((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)]!.toFixed(1);
  const memory_mb = Math.max(...now.map((one) => one.memory_mb)).toFixed(0);
  console.log(
    `  ${median(of('us', now)).toFixed(2)} us of the loop an event, p50 ${at(0.5)} ms, p99 ` +
      `${at(0.99)} ms, memory ${memory_mb} MB`,
  );
}
for (const side of sides) await side.close();
