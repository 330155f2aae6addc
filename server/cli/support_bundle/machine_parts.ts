import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { cpus, freemem, loadavg, platform, release, totalmem, uptime } from 'node:os';
import { join } from 'node:path';
import { settings } from '../../config/config.ts';
import type { Config } from '../../config/config.ts';
import { openOutbound } from '../../platform/outbound/outbound.ts';
import { version } from '../../platform/version.ts';
import { WrongUsageError } from '../user_error.ts';

/** A file of the bundle, and the function that reads its text. */
export type Part = { name: string; about: string; read(): Promise<string> };

const tail_bytes = 512 * 1024;
const answer_ms = 3_000;

/** Settings whose text may be shown; numbers and switches are always shown. */
const shown = new Set<keyof Config>([
  'host',
  'public_url',
  'data_dir',
  'export_dir',
  'trusted_proxies',
  'outbound_allow',
  'no_proxy',
  'proxy_connect',
  'log_level',
  'log_format',
  'dns_servers',
  'plugin_dir',
  'otel_exporter',
  'otel_protocol',
  'otel_sampler',
  'otel_service_name',
  'traces_file',
]);

/** The release, Node, and the machine. */
export function versionPart(): Part {
  return {
    name: 'version.json',
    about: 'the release, Node and the machine',
    read: async () =>
      inJson({
        sluice: version,
        node: process.versions.node,
        platform: `${platform()} ${release()} ${process.arch}`,
        processors: cpus().length,
        memory_bytes: { total: totalmem(), free: freemem() },
        load: loadavg(),
        machine_up_seconds: Math.round(uptime()),
      }),
  };
}

/** Returns every setting as it was read; for a possible secret only whether it is set. */
export function settingsPart(config: Config): Part {
  const read = async () =>
    inJson(
      Object.fromEntries(
        (Object.keys(settings) as (keyof Config)[]).map((name) => [
          settings[name].variable,
          shownValue(name, config[name]),
        ]),
      ),
    );
  return { name: 'settings.json', about: 'settings; what may be secret only as "(set)"', read };
}

function shownValue(name: keyof Config, value: unknown): unknown {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return null;
  if (typeof value === 'number' || typeof value === 'boolean' || shown.has(name)) return value;
  return '(set)';
}

/** Lists the parts that a running server serves at its address. */
export function servedParts(config: Config): Part[] {
  const at = (port: number) => `http://${config.host}:${port}`;
  const pages = [
    ...['healthz', 'readyz', 'metrics'].map((path) => ({ path, port: config.port })),
    ...(config.worker_port === undefined
      ? []
      : [{ path: 'metrics', port: config.worker_port, of: 'worker_' }]),
  ] as { path: string; port: number; of?: string }[];
  return pages.map(({ path, port, of = '' }) => ({
    name: `${of}${path}.txt`,
    about: `what ${at(port)}/${path} answers`,
    read: () => ask(`${at(port)}/${path}`),
  }));
}

async function ask(url: string): Promise<string> {
  const outbound = openOutbound({ allow: ['0.0.0.0/0', '::/0'] });
  try {
    const answer = await outbound.fetch(url, { signal: AbortSignal.timeout(answer_ms) });
    return `${answer.status}\n${await answer.text()}`;
  } catch {
    return `No answer from ${url} within ${answer_ms / 1000} seconds.\n`;
  } finally {
    await outbound.close();
  }
}

/** Returns the ends of log files: of the embedded stores, the traces, and named files. */
export function logParts(config: Config, logs: string[]): Part[] {
  for (const path of logs)
    if (!existsSync(path)) throw new WrongUsageError(`--log: there is no file ${path}.`);
  const named = logs.map((path, index) => [`server_${index + 1}.log`, path] as const);
  const own = [
    ['postgres.log', join(config.data_dir, 'postgres', 'postgres.log')],
    ['clickhouse.log', join(config.data_dir, 'clickhouse', 'clickhouse.log')],
    ['traces.jsonl', config.traces_file ?? ''],
  ] as const;
  return [...named, ...own.filter(([, path]) => existsSync(path))].map(([name, path]) => ({
    name: `logs/${name}`,
    about: `the last ${tail_bytes / 1024} KiB of ${path}`,
    read: async () => tailOf(path),
  }));
}

/** Returns the last whole lines of a file. */
function tailOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const from = Math.max(0, size - tail_bytes);
    const bytes = Buffer.alloc(size - from);
    const text = bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, from));
    return from === 0 ? text : text.slice(text.indexOf('\n') + 1);
  } finally {
    closeSync(file);
  }
}

/** JSON for people. */
export function inJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
