import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { root } from '../../child.ts';

const packages = ['pyiceberg[pyarrow]==0.12.0'];
const run = promisify(execFile);

/** A table as the foreign writer finds it. */
export type WrittenTable = { client: Record<string, string>; table: string };

/** The rows of a table, and the files that a snapshot names and that are not there. */
export type Checked = { rows: string[]; missing: string[]; files: number };

/** PyIceberg in a process of its own; commands are carried out one after the other. */
export type Writer = {
  append(table: WrittenTable, id: string): Promise<void>;
  overwrite(table: WrittenTable, id: string, old: string): Promise<void>;
  compact(table: WrittenTable): Promise<void>;
  check(table: WrittenTable): Promise<Checked>;
  /** Number of its commits that were refused because another came first. */
  conflicts(): number;
  stop(): Promise<void>;
};

/** Starts the writer, and installs PyIceberg into peers/lake_faults/ once. */
export async function startWriter(python: string): Promise<Writer> {
  const folder = join(root, 'peers', 'lake_faults');
  const interpreter = join(folder, 'bin', 'python');
  if (!existsSync(interpreter)) await run(python, ['-m', 'venv', folder]);
  const quiet = ['--quiet', '--disable-pip-version-check'];
  await run(interpreter, ['-m', 'pip', 'install', ...quiet, ...packages]);
  const child = spawn(interpreter, [join(import.meta.dirname, 'writer.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let conflicts = 0;
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (asked: Record<string, unknown>) => {
    child.stdin.write(`${JSON.stringify(asked)}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new Error('The foreign writer ended.');
    const answer = JSON.parse(value) as { error?: string; conflicts?: number };
    if (answer.error !== undefined) throw new Error(`PyIceberg: ${answer.error}`);
    conflicts += answer.conflicts ?? 0;
    return answer as unknown;
  };
  const inTurn = (asked: Record<string, unknown>) => {
    const answer = last.then(() => ask(asked));
    last = answer.catch(() => undefined);
    return answer;
  };
  return {
    append: async (table, id) => void (await inTurn({ ...table, command: 'append', id })),
    overwrite: async (table, id, old) =>
      void (await inTurn({ ...table, command: 'overwrite', id, old })),
    compact: async (table) => void (await inTurn({ ...table, command: 'compact' })),
    check: async (table) => (await inTurn({ ...table, command: 'check' })) as Checked,
    conflicts: () => conflicts,
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.stdin.end();
      await ended;
    },
  };
}
