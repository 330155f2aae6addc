/**
 * The program of the embedded ClickHouse: chDB in a separate process, because its queries occupy
 * threads and memory and may crash the process. Reads its orders as one line of JSON from standard
 * input, prints `ready` on standard output, and ends when standard input closes, so that it cannot
 * outlive its parent.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { collectAfterStart } from '../../memory/collector.ts';
import { keepYoungHeapSmall } from '../../memory/young_heap.ts';
import { lowerPriority, mayRaisePriority } from '../../processes/process_priority.ts';
import { openPipes } from './pipes.ts';
import { createClickHouseServer } from './http.ts';
import {
  aliveWord,
  engine_niceness,
  large_answer_niceness,
  readyWord,
  stopSignal,
} from './orders.ts';
import type { Orders } from './orders.ts';
import { openEngine } from './session.ts';

const endSeconds = 1;
const stuckMax = 4;

/** Ends without waiting: an orderly end may block for ever in the engine. */
function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}

async function main(): Promise<void> {
  lowerPriority(mayRaisePriority() ? engine_niceness : large_answer_niceness, engine_niceness);
  keepYoungHeapSmall();
  const lines = createInterface({ input: process.stdin });
  const [line] = (await once(lines, 'line')) as [string];
  const orders = JSON.parse(line) as Orders;
  const engine = await openEngine(join(orders.folder, 'data'), orders.memory_bytes_max);
  // Only the holder of the folder may remove the pipes.
  const pipes = await openPipes(join(orders.folder, 'pipes'), orders.operations_max);
  let ending = false;
  const end = async (): Promise<void> => {
    if (ending) return;
    ending = true;
    server.close();
    // Each operation of a disconnected client stops its query and closes its pipe.
    server.closeAllConnections();
    const deadline = performance.now() + endSeconds * 1000;
    while (pipes.busy() > 0 && performance.now() < deadline) await pause(5);
    await pipes.close();
    // The engine, and this thread, would wait for a query that does not stop; acknowledged data is
    // on disk.
    if (pipes.busy() > 0) killSelf();
    engine.close();
    process.exit(0);
  };
  let stuck = 0;
  const onStuck = (): void => {
    stuck += 1;
    if (stuck >= stuckMax) killSelf();
  };
  const server = createClickHouseServer({ engine, pipes, password: orders.password, onStuck });
  // The parent is gone: an orderly end helps nobody, and the next server waits for the folder.
  lines.on('close', killSelf);
  process.on(stopSignal, () => void end());
  // A signal to the whole group is meant for the server, which needs this store until it has
  // stopped.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  server.listen(orders.port, '127.0.0.1');
  await once(server, 'listening');
  process.stdout.write(`${readyWord}\n`);
  collectAfterStart();
  setInterval(() => process.stdout.write(`${aliveWord}\n`), orders.alive_ms);
}

await main();
