import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { withProcess } from '../server/cli/with_process.ts';
import { readConfig } from '../server/config/config.ts';
import { makeApiKey } from '../server/platform/http/caller/api_key.ts';
import { silentLog } from '../server/platform/log.ts';
import { is_deep } from './depth.ts';
import { findProcesses, serverEnvironment, startServer } from './processes/server_process.ts';

// A supervisor such as systemd tells every process of a service to end at the same moment.

let folder: string;
let environment: Record<string, string>;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-group-stop-'));
  environment = serverEnvironment(folder, makeApiKey());
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** The processes below one, each before its children. */
function descendantsOf(pid: number): number[] {
  const parents = new Map<number, number[]>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      parents.set(parent, [...(parents.get(parent) ?? []), Number(name)]);
    } catch {
      // It has ended meanwhile.
    }
  }
  const below = (parent: number): number[] =>
    (parents.get(parent) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

function tell(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // A process of PostgreSQL that ended before its turn came.
    }
  }
}

const orders = [
  ['the stores first', (server: number, others: number[]) => [...others, server, server]],
  ['the server first', (server: number, others: number[]) => [server, ...others, server]],
] as const;

// Where the server hears of it first it stops as when it is told alone.
for (const [title, order] of is_deep ? orders : orders.slice(0, 1))
  test(`told together, ${title}, a server stops in order and nothing remains`, async () => {
    const server = await startServer(['start'], environment);
    const pid = server.child.pid!;
    const ended = new Promise<number | null>((resolve) => server.child.once('exit', resolve));
    // The server twice: npm passes on to it what it got itself.
    tell(order(pid, descendantsOf(pid)), 'SIGTERM');
    assert.equal(await ended, 0, server.output());
    assert.doesNotMatch(server.output(), / {4}at |could not be announced|"level":[56]0/);
    assert.deepEqual(
      (['postgres', 'clickhouse'] as const).flatMap((kind) => findProcesses(folder, kind)),
      [],
    );
    const context = { config: readConfig(environment), log: silentLog() };
    const workers = await withProcess(context, ({ deps }) =>
      deps.db.rows(sql`SELECT id FROM workers`),
    );
    assert.deepEqual(workers, []);
  });
