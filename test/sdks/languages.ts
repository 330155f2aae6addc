import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installPython } from '../../scripts/peer.ts';

/** The amount that a client's program sends: an event of each kind, or a single one. */
export type Amount = 'all' | 'one';
/** A client in another language, installed unchanged from its registry. */
export type LanguageClient = {
  name: string;
  version: string;
  protocol: 'posthog' | 'segment' | 'snowplow';
  /**
   * Sends to the server with the key, and waits until the client has delivered or given up. Returns
   * the client's report to its program. Rejects if the client does not end.
   */
  send(address: string, key: string, amount: Amount): Promise<string[]>;
  /** Requests for an event that is finally refused; clients of Go retry after any failure. */
  requests_refused: number;
};

/** The clients that could not be installed where this was written, and why. */
export const skipped_clients: readonly string[] = [
  'Go, github.com/rudderlabs/analytics-go: proxy.golang.org answers 403',
  'Go, github.com/snowplow/snowplow-golang-tracker/v3: proxy.golang.org answers 403',
  'PHP, all clients: packagist.org does not resolve',
  'Ruby, all clients: rubygems.org does not resolve',
];

const python = [
  ['posthog', '7.91.1', 'posthog'],
  ['segment-analytics-python', '2.4.0', 'segment'],
  ['rudder-sdk-python', '2.1.9', 'segment'],
  ['snowplow-tracker', '1.1.0', 'snowplow'],
] as const;

const go = [
  ['posthog-go', '1.5.2', 'posthog', 'github.com/posthog/posthog-go'],
  ['analytics-go', '3.1.0', 'segment', 'gopkg.in/segmentio/analytics-go.v3'],
] as const;

const run = promisify(execFile);
const programs = join(import.meta.dirname, '../../scripts/campaigns/sdks');
/** A client of Go retries for 43 seconds; a client that retries for minutes fails the campaign. */
const wait_ms_max = 120_000;

/** Installs the clients of Python (PyPI) and Go (its proxy) below the folder, once. */
export async function installClients(folder: string): Promise<LanguageClient[]> {
  const interpreter = await installPython(
    'sdks_python',
    python.map(([name, version]) => `${name}==${version}`),
  );
  const program = await buildGo(join(folder, 'sdks_go'));
  const script = join(programs, 'send.py');
  return [
    ...python.map(([name, version, protocol]) => ({
      name: `Python, ${name}`,
      version,
      protocol,
      send: sender(interpreter, [script, name]),
      requests_refused: 1,
    })),
    ...go.map(([name, version, protocol]) => ({
      name: `Go, ${name}`,
      version,
      protocol,
      send: sender(program, [name]),
      requests_refused: 10,
    })),
  ];
}

function sender(file: string, args: readonly string[]): LanguageClient['send'] {
  return async (address, key, amount) => {
    const all = [...args, address, key, amount];
    const { stdout } = await run(file, all, { timeout: wait_ms_max });
    return JSON.parse(stdout) as string[];
  };
}

async function buildGo(cwd: string): Promise<string> {
  mkdirSync(cwd, { recursive: true });
  copyFileSync(join(programs, 'send.go'), join(cwd, 'main.go'));
  const program = join(cwd, 'send');
  writeFileSync(join(cwd, 'go.mod'), 'module sdks\n');
  await run('go', ['get', ...go.map(([, version, , path]) => `${path}@v${version}`)], { cwd });
  await run('go', ['build', '-o', program, '.'], { cwd });
  return program;
}
