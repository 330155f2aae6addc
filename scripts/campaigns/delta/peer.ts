import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { root } from '../../child.ts';

/** A row as a reader gives it. */
export type Row = Record<string, string | number | boolean | null>;
/** The rows of a table as one reader sees them. */
export type Reading = {
  reader: string;
  version?: string;
  rows?: Row[];
  error?: string;
  skipped?: string;
};

/** Readers and writers of others, at the versions that are tried. */
export const packages = [
  'deltalake==1.6.6',
  'duckdb==1.5.5',
  'duckdb-extensions==1.5.5',
  'duckdb-extension-delta==1.5.5',
  'polars==2.1.0',
  'pyarrow==26.0.1',
  'pytz==2026.6',
  'chdb==4.4.0',
  'pyspark==4.0.1',
];

/** The jars of Spark's Delta, which come from Maven. */
const jars = [
  'io/delta/delta-spark_2.13/4.0.0/delta-spark_2.13-4.0.0.jar',
  'io/delta/delta-storage/4.0.0/delta-storage-4.0.0.jar',
  'org/antlr/antlr4-runtime/4.13.1/antlr4-runtime-4.13.1.jar',
];

const run = promisify(execFile);

/** Starts a process with readers and writers of others; installs them into peers/delta/ once. */
export async function startPeer(python: string) {
  const folder = join(root, 'peers', 'delta', 'venv');
  const interpreter = join(folder, 'bin', 'python');
  if (!existsSync(interpreter)) await run(python, ['-m', 'venv', folder]);
  const quiet = ['--quiet', '--disable-pip-version-check'];
  await run(interpreter, ['-m', 'pip', 'install', ...quiet, ...packages]);
  const jar_folder = join(root, 'peers', 'delta', 'jars');
  await mkdir(jar_folder, { recursive: true });
  for (const jar of jars) {
    const path = join(jar_folder, basename(jar));
    if (existsSync(path)) continue;
    const answer = await fetch(`https://repo1.maven.org/maven2/${jar}`);
    // Without it Spark is left out.
    if (answer.ok) await writeFile(path, await answer.bytes());
  }
  const script = join(import.meta.dirname, 'peer.py');
  const child = spawn(interpreter, [script, jar_folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (asked: Record<string, unknown>) => {
    child.stdin.write(`${JSON.stringify(asked)}\n`);
    const found: Record<string, unknown>[] = [];
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error('The peer ended.');
      const answer = JSON.parse(value) as Record<string, unknown>;
      if (Object.keys(answer).length === 0) return found;
      found.push(answer);
    }
  };
  return {
    read: async (table: string) => (await ask({ table })) as unknown as Reading[],
    /** Commits as another writer does, one after the other. */
    append: async (table: string, append: number, rows: number) =>
      (await ask({ table, append, rows }))[0] as { done: number; refused: number },
    /** Changes the event of a key. */
    update: (table: string, update: string, event: string) => ask({ table, update, event }),
    /** Adds a row. */
    add: (
      table: string,
      { micros, ...row }: { id: string; event: string; version: number; micros: bigint },
    ) => ask({ table, add: { ...row, micros: String(micros) } }),
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.stdin.end();
      await ended;
    },
  };
}
