import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { drawsOf } from '../../../test/factories/events/generated_json.ts';
import type { Draw } from '../../../test/factories/events/generated_json.ts';
import { delivery_rows, keysOf, openTable } from './attempts.ts';
import type { Asked, Done, Fate } from './attempts.ts';
import type { Row, startDeltaPeer } from './peer.ts';

type Peer = Awaited<ReturnType<typeof startDeltaPeer>>;

const fates: Fate[] = ['answered', 'never sent', 'answer lost', 'late'];
/** Number of commits that the other writer makes in a row, and of rows in each. */
const [foreign_commits, foreign_rows] = [10, 2];
/** Most milliseconds between a request and the death of a killed process. */
const kill_within_ms = 40;
/** The same for a merge, which takes longer. */
const merge_kill_within_ms = 4_000;

/** The number of deliveries with faults, and of kills of a process during one. */
export type Wanted = {
  seed: number;
  deliveries: number;
  kills: number;
  naive: boolean;
  /** True if rows are merged by a key instead of added. */
  merges?: boolean;
};

/**
 * Delivers to one table while delta-rs commits to it. Answers are lost or late, requests are never
 * sent, processes are killed. Returns the numbers of steps, and what is wrong: each shown delivery
 * must be there once, each discarded one not at all, and no file may be missing.
 */
export async function playFaults(peer: Peer, wanted: Wanted) {
  const { naive, merges } = wanted;
  const draw = drawsOf(wanted.seed);
  const folder = await mkdtemp(join(tmpdir(), 'sluice-delta-'));
  const table = openTable(folder, 'events', naive);
  const counts = { kills: 0, conflicts: 0, foreign: 0, refused: 0 } as Counts;
  const numbers = new Map<string, number>();
  const asking = openAsking(folder, wanted, { draw, counts, numbers });
  const foreign = untilOver(async () => {
    // Nothing could be merged into a table whose partition changes all the time.
    if (merges) await pause(5_000);
    const { done, refused } = await peer.append(
      table.folder,
      merges ? 1 : foreign_commits,
      foreign_rows,
    );
    counts['foreign']! += done;
    counts['refused']! += refused;
  });
  try {
    const first = randomUUID();
    numbers.set(first, 0);
    await asking.ask('attempt', first);
    foreign.start();
    const { shown, absent } = await deliverAll(wanted, { draw, numbers, ask: asking.ask });
    shown.add(first);
    await asking.ask('land', first);
    await foreign.end();
    const wrong = await judge(peer, table, {
      shown,
      absent,
      foreign: counts['foreign']!,
      ...(merges ? { numbers } : {}),
    });
    return { counts: { ...counts, shown: shown.size, given_back: absent.size }, wrong };
  } finally {
    asking.close();
    await foreign.end();
    await table.close();
    await rm(folder, { recursive: true, force: true });
  }
}

type Counts = Record<string, number>;
type Ask = ReturnType<typeof openAsking>['ask'];

/** Sends a process one request after another, and starts another process after a kill. */
function openAsking(
  folder: string,
  { naive, merges }: Wanted,
  { draw, counts, numbers }: { draw: Draw; counts: Counts; numbers: Map<string, number> },
) {
  const batch_export_id = randomUUID();
  let worker = startWorker(folder, naive);
  return {
    ask: async (
      what: Asked['what'],
      delivery: string,
      fate: Fate = 'answered',
      is_killed = false,
    ): Promise<Done['verdict']> => {
      counts[fate] = (counts[fate] ?? 0) + 1;
      const number = merges ? { number: numbers.get(delivery)! } : {};
      const answer = worker.ask({ what, fate, delivery, batch_export_id, ...number });
      if (is_killed) {
        await pause(draw(merges ? merge_kill_within_ms : kill_within_ms));
        worker.child.kill('SIGKILL');
      }
      const done = await answer;
      if (done !== undefined) counts['conflicts']! += done.conflicts;
      if (is_killed) {
        counts['kills']! += 1;
        worker = startWorker(folder, naive);
      }
      return done?.verdict ?? 'unknown';
    },
    close: () => void worker.child.kill('SIGKILL'),
  };
}

/** Tries all deliveries except the first until each is shown or discarded. */
async function deliverAll(
  { deliveries, kills, naive }: Wanted,
  { draw, numbers, ask }: { draw: Draw; numbers: Map<string, number>; ask: Ask },
) {
  const [shown, absent] = [new Set<string>(), new Set<string>()];
  for (let count = 1; count < deliveries; count += 1) {
    const delivery = randomUUID();
    numbers.set(delivery, count);
    let verdict: Done['verdict'] = 'unknown';
    for (let is_first = true; verdict === 'unknown'; is_first = false) {
      const is_killed = is_first && draw(deliveries) < kills;
      verdict = await ask('attempt', delivery, fates[draw(fates.length)], is_killed);
      if (draw(10) < 3) await ask('land', delivery);
      if (verdict === 'unknown' && draw(2) === 0 && !naive)
        verdict = await ask('settle', delivery, fates[draw(fates.length)]);
    }
    (verdict === 'shown' ? shown : absent).add(delivery);
  }
  return { shown, absent };
}

/** Repeats the step from `start` to `end`. */
function untilOver(step: () => Promise<void>) {
  let is_over = false;
  let running = Promise.resolve();
  const repeat = async () => {
    while (!is_over) await step();
  };
  return {
    start: () => void (running = repeat()),
    end: () => {
      is_over = true;
      return running;
    },
  };
}

function startWorker(folder: string, naive: boolean) {
  const script = join(import.meta.dirname, 'attempt_process.ts');
  const child: ChildProcess = spawn(process.execPath, [script, folder, 'events', String(naive)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin!.on('error', () => undefined);
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const ready = lines.next();
  return {
    child,
    ask: async (asked: Asked): Promise<Done | undefined> => {
      await ready;
      child.stdin!.write(`${JSON.stringify(asked)}\n`);
      const { value, done } = await lines.next();
      return done === true ? undefined : (JSON.parse(value) as Done);
    },
  };
}

async function judge(
  peer: Peer,
  table: ReturnType<typeof openTable>,
  {
    shown,
    absent,
    foreign,
    numbers,
  }: {
    shown: Set<string>;
    absent: Set<string>;
    foreign: number;
    numbers?: Map<string, number>;
  },
): Promise<string[]> {
  const wrong: string[] = [];
  const { adds } = await table.load();
  const names = new Set(await readdir(table.folder));
  for (const path of adds.keys())
    if (!names.has(decodeURIComponent(path))) wrong.push(`${path} is named and gone`);
  for (const { reader, rows, error, skipped } of await peer.read(table.folder)) {
    if (skipped !== undefined) continue;
    if (error !== undefined) wrong.push(`${reader}: ${error}`);
    const seen = new Map<unknown, number>();
    let others = 0;
    for (const { delivery } of rows ?? []) {
      if (String(delivery).startsWith('foreign-')) others += 1;
      else seen.set(delivery, (seen.get(delivery) ?? 0) + 1);
    }
    if (others !== foreign * foreign_rows) wrong.push(`${reader}: ${others} rows of delta-rs`);
    if (numbers !== undefined) {
      wrong.push(...judgeMerged(reader, rows ?? [], shown, numbers));
      continue;
    }
    for (const delivery of shown)
      if (seen.get(delivery) !== delivery_rows)
        wrong.push(`${reader}: ${seen.get(delivery) ?? 0} rows of ${delivery} (shown)`);
    for (const delivery of absent)
      if (seen.has(delivery)) wrong.push(`${reader}: rows of ${delivery}, which was given back`);
    if (seen.size !== shown.size) wrong.push(`${reader}: ${seen.size} deliveries`);
  }
  return wrong;
}

/** Each key must have the row of the last shown delivery, and no other one. */
function judgeMerged(
  reader: string,
  rows: Row[],
  shown: Set<string>,
  numbers: Map<string, number>,
): string[] {
  const expected = new Map<string, string>();
  for (const delivery of [...shown].toSorted((a, b) => numbers.get(a)! - numbers.get(b)!))
    for (const key of keysOf(numbers.get(delivery)!)) expected.set(key, delivery);
  const own = rows.filter(({ delivery }) => !String(delivery).startsWith('foreign-'));
  const found = new Map(own.map(({ id, delivery }) => [String(id), delivery]));
  const wrong = [...expected].flatMap(([key, delivery]) =>
    found.get(key) === delivery
      ? []
      : [`${reader}: ${key} is of ${String(found.get(key))} instead of ${delivery}`],
  );
  if (own.length !== expected.size) wrong.push(`${reader}: ${own.length} rows of ${expected.size}`);
  return wrong;
}
