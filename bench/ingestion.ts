// Events per second into the endpoint over real HTTP, and what one costs the server's event loop:
// npm run bench ingestion [--before <folder of another checkout>] [--way single] [--rounds 5]
// With another checkout both take turns, so that a busy machine slows both down alike.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Asked, Sent } from './ingestion_sender.ts';
import type { Opened, Used } from './ingestion_server.ts';

const { values: options } = parseArgs({
  options: {
    before: { type: 'string' },
    way: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
  },
});
const warm_up_ms = 1_500;
const here = fileURLToPath(new URL('..', import.meta.url));

type Measured = { per_second: number; us: number; latencies_ms: number[]; memory_mb: number };

async function openSide(folder: string) {
  const server = fork(fileURLToPath(new URL('./ingestion_server.ts', import.meta.url)), [folder]);
  const [opened] = (await once(server, 'message')) as [Opened];
  const sender = new Worker(new URL('./ingestion_sender.ts', import.meta.url), {
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

function share(numbers: number[], of: number): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length * of)] ?? NaN;
}

function show(label: string, found: Measured[]): void {
  const median = (field: 'per_second' | 'us' | 'memory_mb') =>
    share(
      found.map((one) => one[field]),
      0.5,
    );
  const latencies = found.flatMap(({ latencies_ms }) => latencies_ms);
  console.log(
    `${label.padEnd(8)} ${median('per_second').toFixed(0)} events/s, ` +
      `${median('us').toFixed(2)} us of processor an event, latency p50 ` +
      `${share(latencies, 0.5).toFixed(1)} ms, p99 ${share(latencies, 0.99).toFixed(1)} ms, ` +
      `memory ${median('memory_mb').toFixed(0)} MB`,
  );
}

const folders = options.before === undefined ? [here] : [options.before, here];
const sides = await Promise.all(folders.map(openSide));
for (const way of sides[0]!.ways) {
  if (!way.includes(options.way)) continue;
  console.log(way);
  const found = sides.map((): Measured[] => []);
  for (const side of sides) await side.warmUp(way);
  for (let round = 0; round < Number(options.rounds); round += 1)
    // Each goes first as often as the other.
    for (const turn of sides.keys()) {
      const index = (turn + round) % sides.length;
      found[index]!.push(await sides[index]!.measure(way));
    }
  const [before, now] = found;
  if (now === undefined) show('now', before!);
  else {
    show('before', before!);
    show('now', now);
    const ratios = (ratio: (index: number) => number) => share([...now.keys()].map(ratio), 0.5);
    console.log(
      `ratio    ${ratios((at) => now[at]!.per_second / before![at]!.per_second).toFixed(2)} by ` +
        `the clock, ${ratios((at) => before![at]!.us / now[at]!.us).toFixed(2)} by the processor`,
    );
  }
}
for (const side of sides) await side.close();
