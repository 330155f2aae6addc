// Events of one day to each kind of destination by one run, from when they are counted to its end,
// against what else would bring the same bytes to the same place, in turn in each round
// (export/places.ts). About 800 bytes a row; a million rows are one slice, 2.5 million are three.
//   npm run bench export [--way Parquet] [--events 1000000,2500000] [--rounds 3] [--sliced 2500000]
// `--sliced`: so many events to Postgres besides, which writes several slices otherwise than one.
// A first round is not measured: a server that has just started compiles its code, and the store
// its expressions, which took 0.2 to 0.4 s.
// Processor time is that of all that takes part: our server and its stores, the loader beside it,
// and the destination's server, less what they use when nobody asks: on a busy machine the same
// work takes longer, and would have more of that.
import { setTimeout as pause } from 'node:timers/promises';
import { exportYesterday, fillYesterday, openBenchServer } from './measure/bench_server.ts';
import type { BenchServer } from './measure/bench_server.ts';
import type { Place } from './export/place.ts';
import { openPlaces } from './export/places.ts';
import { numbersOf, readBenchOptions, tell } from './measure/figures.ts';
import { memoryOf, treeOf } from './measure/process_memory.ts';
import { processorTime } from './measure/processor_time.ts';

const options = readBenchOptions({ way: '', events: '1000000', rounds: '3', sliced: '' });

type Measured = { rate: number; processor: number };

const idle_seconds = 8;

/** Microseconds of processor time that all idle processes use in a second. */
async function measureIdle(): Promise<number> {
  const before = processorTime(process.pid, 'with children');
  await pause(idle_seconds * 1_000);
  return (processorTime(process.pid, 'with children') - before) / idle_seconds;
}

async function measured(
  { events, idle }: { events: number; idle: number },
  work: () => Promise<number>,
): Promise<Measured> {
  const [before, began] = [processorTime(process.pid, 'with children'), performance.now()];
  const seconds = await work();
  const used = processorTime(process.pid, 'with children') - before;
  return {
    rate: events / seconds,
    processor: used - (idle * (performance.now() - began)) / 1_000,
  };
}

/** The server's own memory, in MB, without that of its stores. */
function memoryOfServer({ child }: BenchServer, tree: ReadonlySet<number>): number {
  const { by_process } = memoryOf('private', tree);
  return by_process.find(({ pid }) => pid === child.pid)?.megabytes ?? 0;
}

async function compare(
  server: BenchServer,
  place: Place,
  { team_id, events }: { team_id: number; events: number },
): Promise<void> {
  // The measured processes do not change. Searching for them at each sample would use a part of the
  // two cores.
  const tree = treeOf(server.child.pid!);
  const idle_memory = memoryOfServer(server, tree);
  let most = idle_memory;
  const ours: Measured[] = [];
  const own: Measured[] = [];
  const flushed: number[] = [];
  await place.prepare?.(team_id);
  await exportYesterday(server, team_id, await place.destination());
  await place.own(team_id);
  await place.tidyUp();
  const size = { events, idle: await measureIdle() };
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const destination = await place.destination();
    ours.push(
      await measured(size, async () => {
        const { seconds, steps } = await exportYesterday(server, team_id, destination, () => {
          most = Math.max(most, memoryOfServer(server, tree));
        });
        console.log(`  ${place.name}: ${seconds.toFixed(1)} s (${steps})`);
        return seconds;
      }),
    );
    own.push(
      await measured(size, async () => {
        const seconds = await place.own(team_id);
        if (seconds.flushed !== undefined) flushed.push(events / seconds.flushed);
        return seconds.loaded;
      }),
    );
    await place.tidyUp();
  }
  const rates = (found: Measured[]) => found.map(({ rate }) => rate);
  const what = `${events / 1e6} M events to ${place.name}`;
  tell({
    what,
    unit: 'rows/s',
    better: 'more',
    ours: rates(ours),
    beside: { name: place.own_name, rounds: rates(own) },
    processor: {
      ours: ours.map(({ processor }) => processor),
      beside: own.map(({ processor }) => processor),
    },
    aim: place.aim === undefined ? undefined : { ratio: place.aim },
  });
  if (flushed.length > 0)
    tell({
      what: `${what}, both flushed to the disk`,
      unit: 'rows/s',
      better: 'more',
      ours: rates(ours),
      beside: { name: `${place.own_name}, then sync`, rounds: flushed },
    });
  tell({
    what: `${what}: memory of the server over idle`,
    unit: 'MB',
    better: 'less',
    ours: [most - idle_memory],
  });
}

const server = await openBenchServer();
const sizes = [
  ...numbersOf(options.events).map((events) => ({ events, way: options.way })),
  ...(options.sliced === '' ? [] : [{ events: Number(options.sliced), way: 'Postgres' }]),
];
try {
  for (const { events, way } of sizes) {
    const team_id = await fillYesterday(server, events);
    for (const [name, open] of openPlaces(server)) {
      if (!name.includes(way)) continue;
      const place = await open();
      await compare(server, place, { team_id, events }).finally(() => place.close?.());
    }
  }
} finally {
  await server.close();
}
