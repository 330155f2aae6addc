// What one row of an export costs, by how many rows the export has.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { exportYesterday, fillYesterday, openBenchServer } from '../measure/bench_server.ts';
import type { BenchServer } from '../measure/bench_server.ts';
import { tell } from '../measure/figures.ts';
import { median } from '../measure/median.ts';
import { processorTime } from '../measure/processor_time.ts';

/** Above this one round: the next one would take as long again, and say the same. */
const repeated_rows_max = 1_000_000;

/**
 * Exports of these sizes to `File`, each in one run: processor time of the server and its stores
 * for each row.
 */
export async function growRows(sizes: number[], rounds: number): Promise<void> {
  const server = await openBenchServer();
  try {
    const found: number[][] = [];
    for (const rows of sizes) found.push(await costs(server, rows, rounds));
    const cells = (values: readonly (number | string)[]) => `| ${values.join(' | ')} |`;
    console.log(cells(['us of processor time, by rows of the export', ...sizes]));
    console.log(cells(['---', ...sizes.map(() => '---')]));
    console.log(
      cells(['a row to File, JSON lines', ...found.map((one) => median(one).toFixed(1))]),
    );
    for (const [at, ours] of found.entries())
      tell({
        what: `Growth: a row of an export of ${sizes[at]} rows to File`,
        unit: 'us of processor',
        better: 'less',
        ours,
      });
  } finally {
    await server.close();
  }
}

async function costs(server: BenchServer, rows: number, rounds: number): Promise<number[]> {
  const team_id = await fillYesterday(server, rows);
  const found: number[] = [];
  for (let round = 0; round < (rows > repeated_rows_max ? 1 : rounds); round += 1) {
    const before = processorTime(server.child.pid!, 'with children');
    const { seconds } = await exportYesterday(server, team_id, {
      type: 'File',
      config: { prefix: 'growth', file_format: 'JSONLines', compression: null },
    });
    const spent = processorTime(server.child.pid!, 'with children') - before;
    console.log(`${rows} rows: ${seconds.toFixed(1)} s`);
    found.push(spent / rows);
    rmSync(join(server.folder, 'exports', 'growth'), { recursive: true, force: true });
  }
  return found;
}
