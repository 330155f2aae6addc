// Measures the cost of one row of an export, by the number of rows, and the memory that it needs.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { exportYesterday, fillYesterday, openBenchServer } from '../measure/bench_server.ts';
import type { BenchServer } from '../measure/bench_server.ts';
import { tell } from '../measure/figures.ts';
import { median } from '../measure/median.ts';
import { memoryOf, treeOf } from '../measure/process_memory.ts';
import { processorTime } from '../measure/processor_time.ts';

/**
 * Above this size there is one round, because the next one would take as long and show the same.
 */
const repeated_rows_max = 1_000_000;

/** A format of `File`, and the largest number of its rows that fits on a disk. */
type FileWay = { name: string; file_format: string; compression: string | null; rows_max: number };

const file_ways: FileWay[] = [
  // 800 bytes a row.
  { name: 'JSON lines', file_format: 'JSONLines', compression: null, rows_max: 10_000_000 },
  { name: 'Parquet, zstd', file_format: 'Parquet', compression: 'zstd', rows_max: 1_000_000_000 },
];

/** Time for which the processor use of idle processes is measured. */
const idle_ms = 10_000;

/**
 * The cost in each round: microseconds of processor time for a row, and the peak of memory in MB.
 */
type Cost = { rows: number; spent: number[]; memory: number[] };

/**
 * Exports of these sizes to `File`, each in one run. Returns the processor time of the server and
 * its stores for each row, without that of the idle processes.
 */
export async function growRows(sizes: number[], rounds: number): Promise<void> {
  const server = await openBenchServer();
  try {
    // Otherwise the parts that merges replace would stay for eight minutes and double the size.
    await server.clickhouse.command({
      query: 'ALTER TABLE events MODIFY SETTING old_parts_lifetime = 1',
    });
    const idle = await idleTime(server);
    const found = new Map(file_ways.map((way) => [way, [] as Cost[]]));
    for (const rows of sizes) {
      const began = performance.now();
      const team_id = await fillYesterday(server, rows);
      console.log(`${rows} rows: planted in ${Math.ceil((performance.now() - began) / 1e3)} s`);
      for (const [way, costs] of found)
        if (rows <= way.rows_max)
          costs.push(await costOf(server, team_id, way, { rows, rounds, idle }));
    }
    show(sizes, found);
  } finally {
    await server.close();
  }
}

/** Microseconds of processor time in each millisecond of idling. */
async function idleTime({ child }: BenchServer): Promise<number> {
  await setTimeout(idle_ms);
  const before = processorTime(child.pid!, 'with children');
  await setTimeout(idle_ms);
  return (processorTime(child.pid!, 'with children') - before) / idle_ms;
}

async function costOf(
  server: BenchServer,
  team_id: number,
  { name, file_format, compression }: FileWay,
  { rows, rounds, idle }: { rows: number; rounds: number; idle: number },
): Promise<Cost> {
  const cost: Cost = { rows, spent: [], memory: [] };
  const destination = { type: 'File', config: { prefix: 'growth', file_format, compression } };
  for (let round = 0; round < (rows > repeated_rows_max ? 1 : rounds); round += 1) {
    let most = 0;
    const look = () => {
      most = Math.max(most, memoryOf('private', treeOf(server.child.pid!)).total);
    };
    const before = processorTime(server.child.pid!, 'with children');
    const began = performance.now();
    const { seconds, steps } = await exportYesterday(server, team_id, destination, look);
    const spent =
      processorTime(server.child.pid!, 'with children') -
      before -
      idle * (performance.now() - began);
    console.log(
      `${rows} rows, ${name}: ${seconds.toFixed(1)} s, ${(spent / rows).toFixed(2)} us a row, ` +
        `${most.toFixed(0)} MB; ${steps}`,
    );
    cost.spent.push(spent / rows);
    cost.memory.push(most);
    rmSync(join(server.folder, 'exports', 'growth'), { recursive: true, force: true });
  }
  return cost;
}

function show(sizes: number[], found: Map<FileWay, Cost[]>): void {
  const cells = (values: readonly (number | string)[]) => `| ${values.join(' | ')} |`;
  console.log(cells(['by rows of the export', ...sizes]));
  console.log(cells(['---', ...sizes.map(() => '---')]));
  for (const [{ name }, costs] of found) {
    const row = costs.map(({ spent }) => median(spent).toFixed(2));
    console.log(cells([`us of processor time for a row to File, ${name}`, ...row]));
    const most = costs.map(({ memory }) => median(memory).toFixed(0));
    console.log(cells([`MB of all processes at most, ${name}`, ...most]));
  }
  for (const [{ name }, costs] of found)
    for (const { rows, spent } of costs)
      tell({
        what: `Growth: a row of an export of ${rows} rows to File, ${name}`,
        unit: 'us of processor',
        better: 'less',
        ours: spent,
      });
}
