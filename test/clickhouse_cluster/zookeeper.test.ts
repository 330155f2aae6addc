import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { readBackgroundMigrations } from '../../server/platform/background_migrations/files.ts';
import { statementsOf } from '../../server/platform/clickhouse/migrate.ts';
import { stored_tables } from '../../server/platform/clickhouse/topology/mode.ts';
import type { Mode } from '../../server/platform/clickhouse/topology/mode.ts';
import { statementFor } from '../../server/platform/clickhouse/topology/statements.ts';
import { findFreePort } from '../../server/platform/embedded/free_port.ts';
import { only_deep } from '../depth.ts';
import { eventually } from '../eventually.ts';
import { root } from '../house/source_files.ts';

const jars = '/usr/share/java';
const missing =
  existsSync(`${jars}/zookeeper.jar`) && existsSync('/usr/bin/java')
    ? false
    : 'ZooKeeper is not installed; on Debian: apt-get install zookeeper';
const java = ['-Xmx128m', '-cp', `${jars}/*`];
const mode: Mode = { kind: 'replicated_database', cluster: 'mine', database: 'mine' };
const migrations = globSync('migrations/clickhouse/*.sql', { cwd: root })
  .toSorted()
  .flatMap((path) => statementsOf(readFileSync(join(root, path), 'utf8')));
const own_migrations =
  'CREATE TABLE IF NOT EXISTS migrations (name String, applied_at DateTime64(3) DEFAULT ' +
  'now64(3)) ENGINE = MergeTree ORDER BY name';

type Told = { answer: string; fault?: undefined } | { answer?: undefined; fault: string };

/** Starts ZooKeeper and the engine that knows it. */
async function openBoth() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-zookeeper-'));
  const port = await findFreePort();
  const settings = {
    tickTime: 500,
    dataDir: join(folder, 'zookeeper'),
    clientPort: port,
    clientPortAddress: '127.0.0.1',
    'admin.enableServer': false,
  };
  const properties = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  writeFileSync(join(folder, 'zoo.cfg'), properties.join('\n'));
  const main = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';
  const zookeeper = spawn('java', [...java, main, join(folder, 'zoo.cfg')], { stdio: 'ignore' });
  await eventually('ZooKeeper does not listen', () => listens(port));
  const file = join(folder, 'config.xml');
  writeFileSync(
    file,
    `<clickhouse><zookeeper><node><host>127.0.0.1</host><port>${port}</port></node></zookeeper>
    <macros><shard>1</shard><replica>one</replica></macros>
    <interserver_http_port>${await findFreePort()}</interserver_http_port>
    <remote_servers><main><shard><replica><host>127.0.0.1</host><port>1</port></replica></shard>
    </main></remote_servers></clickhouse>`,
  );
  const words = [join(import.meta.dirname, 'zookeeper_engine.ts'), join(folder, 'engine'), file];
  const engine = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface({ input: engine.stdout })[Symbol.asyncIterator]();
  return {
    /** Runs a statement in the engine. */
    async tell(statement: string): Promise<Told> {
      engine.stdin.write(`${JSON.stringify(statement)}\n`);
      const { value, done } = await lines.next();
      assert.notEqual(done, true, `the engine ended at: ${statement}`);
      return JSON.parse(value as string) as Told;
    },
    /** All nodes of ZooKeeper, by its own program. */
    nodes(): string[] {
      const client = 'org.apache.zookeeper.ZooKeeperMain';
      const options = [...java, client, '-server', `127.0.0.1:${port}`, 'ls', '-R', '/clickhouse'];
      const stdio = ['ignore', 'pipe', 'ignore'] as const;
      return execFileSync('java', options, { encoding: 'utf8', stdio: [...stdio] }).split('\n');
    },
    async close(): Promise<void> {
      for (const child of [engine, zookeeper]) {
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function listens(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe('with a real ZooKeeper', { skip: only_deep || missing }, () => {
  let both: Awaited<ReturnType<typeof openBoth>>;
  const uuids = new Map(stored_tables.map((name) => [name, randomUUID()]));
  const done = async (statement: string): Promise<string> => {
    const { answer, fault } = await both.tell(statement);
    assert.equal(fault, undefined, statement);
    return answer;
  };
  /** The statement as a replica gets it: in a database, with the id that all replicas share. */
  const onReplica = (statement: string, database: string) =>
    statementFor(mode, statement)
      .replace(/^(CREATE TABLE IF NOT EXISTS) (\w+)/, (_all, create: string, name: string) => {
        const id = database === 'today' ? uuids.get(name)! : randomUUID();
        return `${create} ${database}.${name} UUID '${id}'`;
      })
      .replace(/^(ALTER TABLE) (\w+)/, `$1 ${database}.$2`);
  before(async () => {
    both = await openBoth();
  });
  after(() => both.close());

  test('it takes each table that a migration creates', async () => {
    await done('CREATE DATABASE then ENGINE = Atomic');
    const tables = [own_migrations, ...migrations].filter((one) => one.startsWith('CREATE TABLE'));
    assert.ok(tables.length >= 9);
    for (const statement of tables) await done(onReplica(statement, 'then'));
  });

  test('it takes the tables as all migrations leave them, with projections', async () => {
    const steps = readBackgroundMigrations(join(root, 'migrations/clickhouse/background'));
    for (const statement of [own_migrations, ...migrations]) await done(statement);
    for (const { statement } of steps)
      await done(statement.replace(' IN PARTITION ID {partition}', ''));
    await done('CREATE DATABASE today ENGINE = Atomic');
    for (const name of stored_tables) {
      const shown = JSON.parse(await done(`SHOW CREATE TABLE ${name}`)) as { statement: string };
      const text = shown.statement.replace(
        /^CREATE TABLE \S+/,
        `CREATE TABLE IF NOT EXISTS ${name}`,
      );
      await done(onReplica(text, 'today'));
      if (name === 'events') assert.match(text, /PROJECTION sessions[^]*PROJECTION groups/);
    }
    const known = await done(
      "SELECT table, is_readonly FROM system.replicas WHERE database = 'today' ORDER BY table",
    );
    const rows = known
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    assert.deepEqual(
      rows,
      stored_tables.toSorted().map((table) => ({ table, is_readonly: 1 })),
    );
    const nodes = new Set(both.nodes());
    for (const id of uuids.values())
      assert.ok(nodes.has(`/clickhouse/tables/${id}/1/replicas/one/metadata`), id);
  });

  test('it goes no further: replicas are read-only, and nothing spreads', async () => {
    const altering = migrations.filter((one) => one.startsWith('ALTER TABLE'));
    assert.ok(altering.length >= 5);
    for (const statement of altering)
      assert.match((await both.tell(onReplica(statement, 'today'))).fault ?? '', /readonly mode/);
    const insert =
      "INSERT INTO today.migrations (name) SETTINGS insert_keeper_max_retries = 0 VALUES ('one')";
    assert.match((await both.tell(insert)).fault ?? '', /readonly mode/);
    const database = "CREATE DATABASE mine ENGINE = Replicated('/mine', '{shard}', '{replica}')";
    assert.match((await both.tell(database)).fault ?? '', /interserver_http\(s\)_port/);
    const spread = statementFor({ ...mode, kind: 'on_cluster', cluster: 'main' }, own_migrations);
    assert.match((await both.tell(spread)).fault ?? '', /Replicated DDL queries are disabled/);
  });
});
