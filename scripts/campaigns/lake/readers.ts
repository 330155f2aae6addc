import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../child.ts';
import { installPython, startPeer } from '../../peer.ts';
import type { Peer } from '../../peer.ts';

/** A row by the names of its columns; instants and whole numbers are text. */
export type Row = Record<string, string | number | boolean | null>;

/** The rows that a reader found in a table, or their number for a command of the console. */
export type Reading = {
  reader: string;
  version?: string;
  rows?: Row[];
  /** The number of rows that a command of the console returned. */
  given?: number;
  error?: string;
  skipped?: string;
};

/** Packages that pip installs. */
export const packages = [
  'duckdb==1.5.5',
  'duckdb-extensions==1.5.5',
  'duckdb-extension-avro==1.5.5',
  'duckdb-extension-httpfs==1.5.5',
  'duckdb-extension-iceberg==1.5.5',
  'pyiceberg==0.12.0',
  'pyarrow==26.0.1',
  'pytz==2026.6',
  'pandas==3.1.0',
  'polars==2.1.0',
  'pyspark==4.0.1',
  's3fs==2026.9.0',
  'chdb==4.4.0',
];
const go_modules = ['github.com/apache/iceberg-go@v0.7.0'];
const jar_name = 'iceberg-spark-runtime-4.0_2.13';
const bucket_jar_name = 'iceberg-aws-bundle';
const jar_version = '1.10.0';
const run = promisify(execFile);
const peers = join(root, 'peers', 'lake');
const jars = join(peers, 'jars');
const jarOf = (name: string) => join(jars, `${name}-${jar_version}.jar`);
/** The jar with which Spark reads Iceberg. */
export const jar = jarOf(jar_name);

/**
 * Installs the readers into peers/lake/ once, and starts a process for each language. iceberg-go
 * only reads folders.
 */
export async function startReaders(python: string, is_bucket: boolean): Promise<Peer> {
  const all = [await startPython(python, is_bucket), ...(is_bucket ? [] : [await startGo()])];
  return {
    ask: async <Answer>(asked: unknown) => {
      const found: Answer[] = [];
      for (const one of all) found.push(...(await one.ask<Answer>(asked)));
      return found;
    },
    stop: async () => void (await Promise.all(all.map((one) => one.stop()))),
  };
}

async function startPython(python: string, is_bucket: boolean): Promise<Peer> {
  await fetchJar(jar_name);
  if (is_bucket) await fetchJar(bucket_jar_name);
  const interpreter = await installPython('lake/venv', packages, python);
  const used = [jar_name, ...(is_bucket ? [bucket_jar_name] : [])].map(jarOf).join();
  return startPeer(interpreter, [join(import.meta.dirname, 'read.py'), used]);
}

/** Fetches the jar with which Spark reads Iceberg. Without mvn, Spark is skipped. */
async function fetchJar(name: string): Promise<void> {
  if (existsSync(jarOf(name)) || isMissing('mvn')) return;
  const artifact = `org.apache.iceberg:${name}:${jar_version}`;
  const copy = ['dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${jars}`];
  await run('mvn', ['--quiet', '--batch-mode', ...copy]);
}

/** Builds the reader in Go, with the modules that iceberg-go requires. */
async function startGo(): Promise<Peer> {
  if (isMissing('go', 'version')) return skipped('iceberg-go', 'go is missing');
  const cwd = join(peers, 'go');
  mkdirSync(cwd, { recursive: true });
  copyFileSync(join(import.meta.dirname, 'read.go'), join(cwd, 'read.go'));
  if (!existsSync(join(cwd, 'go.mod'))) {
    await run('go', ['mod', 'init', 'reader'], { cwd });
    await run('go', ['get', ...go_modules], { cwd });
    await run('go', ['mod', 'tidy'], { cwd });
  }
  await run('go', ['build', '-o', 'reader', '.'], { cwd });
  return startPeer(join(cwd, 'reader'), []);
}

function isMissing(program: string, ...given: string[]): boolean {
  return spawnSync(program, given.length === 0 ? ['-version'] : given).status !== 0;
}

function skipped(reader: string, why: string): Peer {
  return {
    ask: async <Answer>(asked: unknown) => {
      const { ways, create } = asked as { ways?: unknown; create?: unknown };
      return (ways ?? create) === undefined ? [{ reader, skipped: why } as Answer] : [];
    },
    stop: async () => undefined,
  };
}
