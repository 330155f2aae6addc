import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { root } from '../../child.ts';
import { installPython, startPeer } from '../../peer.ts';

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

/** The bucket of a table: its address and keys. */
export type Store = { endpoint: string; key: string; secret: string };

/** Foreign readers and writers, at the tested versions. */
export const packages = [
  'deltalake==1.6.6',
  'duckdb==1.5.5',
  'duckdb-extensions==1.5.5',
  'duckdb-extension-delta==1.5.5',
  'duckdb-extension-httpfs==1.5.5',
  'polars==2.1.0',
  'pyarrow==26.0.1',
  'pytz==2026.6',
  'chdb==4.4.0',
  'pyspark==4.0.1',
];

/** The jars of Spark's Delta, from Maven. */
const jars = [
  'io/delta/delta-spark_2.13/4.0.0/delta-spark_2.13-4.0.0.jar',
  'io/delta/delta-storage/4.0.0/delta-storage-4.0.0.jar',
  'org/antlr/antlr4-runtime/4.13.1/antlr4-runtime-4.13.1.jar',
];

/** Starts a process with foreign readers and writers; installs them into peers/delta/ once. */
export async function startDeltaPeer(python: string) {
  const interpreter = await installPython('delta/venv', packages, python);
  const jar_folder = join(root, 'peers', 'delta', 'jars');
  await mkdir(jar_folder, { recursive: true });
  for (const jar of jars) {
    const path = join(jar_folder, basename(jar));
    if (existsSync(path)) continue;
    const answer = await fetch(`https://repo1.maven.org/maven2/${jar}`);
    // Spark is skipped without Java.
    if (answer.ok) await writeFile(path, await answer.bytes());
  }
  const script = join(import.meta.dirname, 'peer.py');
  const { ask, stop } = startPeer(interpreter, [script, jar_folder]);
  return {
    read: (table: string, store?: Store) => ask<Reading>({ table, store }),
    /** Commits as another writer does, one commit after another. */
    append: async (table: string, append: number, rows: number) =>
      (await ask<{ done: number; refused: number }>({ table, append, rows }))[0]!,
    /** Changes the event of a key. */
    update: (table: string, update: string, event: string) => ask({ table, update, event }),
    /** Adds a row. */
    add: (
      table: string,
      { micros, ...row }: { id: string; event: string; version: number; micros: bigint },
    ) => ask({ table, add: { ...row, micros: String(micros) } }),
    stop,
  };
}
