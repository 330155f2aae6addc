import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { eventually } from '../../../test/eventually.ts';
import { StoreAwayError } from '../store_away.ts';
import { judgeStandbys } from './control_store.ts';
import { openDatabase } from './database.ts';
import { choosePrimary } from './epoch.ts';
import type { Standing } from './epoch.ts';
import { findPrimaryUrl } from './primary.ts';
import { hostOf, passwordOf, splitHosts } from './hosts.ts';
import { listen } from '../../../test/servers/loopback.ts';

test('a URL with several servers is one for each', () => {
  const cases: [string, string[]][] = [
    ['postgres://u:p@a/x', ['postgres://u:p@a/x']],
    ['postgres://u@/x?host=%2Frun&port=5432', ['postgres://u@/x?host=%2Frun&port=5432']],
    [
      'postgresql://u:a%40b@a:1,[::1]:2,c/x?target_session_attrs=read-write&sslmode=require',
      ['a:1', '[::1]:2', 'c'].map((host) => `postgresql://u:a%40b@${host}/x?sslmode=require`),
    ],
    ['postgres://a,b/x?target_session_attrs=primary', ['postgres://a/x', 'postgres://b/x']],
  ];
  for (const [url, urls] of cases) assert.deepEqual(splitHosts(url), urls);
  for (const url of ['http://a/x', 'postgres://a,/x', 'postgres://a:x,b/x', 'a,b'])
    assert.throws(() => splitHosts(url), /^Error: (must|names)/, url);
  assert.throws(() => splitHosts('postgres://a/x?target_session_attrs=standby'), /read-write/);
  assert.equal(hostOf('postgres://u:secret@a:1/x'), 'a:1');
  assert.equal(passwordOf('postgres://u:sec%40ret@a:1,b/x'), 'sec@ret');
  assert.equal(passwordOf('postgres://u@a/x?target_session_attrs=primary'), '');
});

const on = (timeline: number, system_identifier = '7'): Standing => ({
  is_writable: true,
  epoch: { system_identifier, timeline },
});
const standby: Standing = { is_writable: false, epoch: undefined };
const untold: Standing = { is_writable: true, epoch: undefined };

test('the primary is the one that takes writes on the highest timeline', () => {
  const known = { system_identifier: '7', timeline: 2 };
  const cases: [(Standing | undefined)[], typeof known | undefined, number][] = [
    [[undefined, standby], undefined, -1],
    [[standby, on(1)], undefined, 1],
    [[on(1), on(2)], undefined, 1],
    [[on(2), on(1), on(2)], known, 0],
    [[on(1), standby], known, -1],
    [[on(3, '8'), on(2)], known, 1],
    [[undefined, untold], known, 1],
  ];
  for (const [answers, seen, index] of cases)
    assert.equal(choosePrimary(answers, seen), index, JSON.stringify(answers));
});

test('the state of standbys is told in a word', () => {
  const cases: [string, string, number | null, string][] = [
    ['', 'on', 0, 'none'],
    ['b', 'local', 1, 'unsafe'],
    ['b', 'on', null, 'unknown'],
    ['b', 'on', 0, 'missing'],
    ['ANY 1 (b, c)', 'remote_apply', 2, 'synchronous'],
  ];
  for (const [wanted, commit, present, word] of cases)
    assert.equal(judgeStandbys({ wanted, commit, present }), word);
});

/** Speaks as much of PostgreSQL as tells a primary from a standby, and answers no "hang". */
type FakeServer = {
  server: Server;
  url: string;
  standing: Standing;
  asked: string[];
  /** Takes connections and says nothing, as a process that is paused. */
  is_frozen: boolean;
  /** The number of connections so far. */
  visitors: number;
  sockets: Set<Socket>;
  cut(): void;
};

const text = (value: string) => Buffer.from(`${value}\0`);
const short = (value: number) => Buffer.from([0, value]);
const message = (type: string, ...parts: Buffer[]) => {
  const content = Buffer.concat(parts);
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
};
const ready = message('Z', Buffer.from('I'));

function answerOf({ is_writable, epoch }: Standing): Buffer {
  const types = { is_writable: 16, system_identifier: 25, timeline: 23 };
  const timeline = epoch === undefined ? null : String(epoch.timeline);
  return rowsOf(types, [[is_writable ? 't' : 'f', '7', timeline]]);
}

function rowsOf(types: Record<string, number>, rows: (string | null)[][]): Buffer {
  const columns = Object.entries(types).map(([name, type]) => {
    const about = Buffer.alloc(18);
    about.writeInt32BE(type, 6);
    return Buffer.concat([text(name), about]);
  });
  const values = rows.map((row) => {
    const written = row.map((value) => {
      const length = Buffer.alloc(4);
      length.writeInt32BE(value === null ? -1 : value.length);
      return Buffer.concat([length, Buffer.from(value ?? '')]);
    });
    return message('D', short(row.length), ...written);
  });
  return Buffer.concat([
    message('T', short(columns.length), ...columns),
    ...values,
    message('C', text('SELECT 1')),
    ready,
  ]);
}

/** Sets the settings of a session, or tells them; undefined for another statement. */
function settingsAnswer(asked: string, known: Map<string, string>): Buffer | undefined {
  for (const [, name, value] of asked.matchAll(/SET (\w+) = '([^']*)'/g)) known.set(name!, value!);
  if (asked.startsWith('SET ')) return Buffer.concat([message('C', text('SET')), ready]);
  return asked.includes('current_setting(name)')
    ? rowsOf({ name: 25, setting: 25 }, [...known])
    : undefined;
}

/** The statements of simple queries that came in one piece. */
function statementsOf(sent: Buffer): string[] {
  const statements: string[] = [];
  for (let at = 0; at < sent.length;) {
    const length = sent.readInt32BE(at + 1);
    if (sent[at] === 'Q'.charCodeAt(0)) statements.push(sent.toString('utf8', at + 5, at + length));
    at += 1 + length;
  }
  return statements;
}

async function openFake(standing: Standing): Promise<FakeServer> {
  const sockets = new Set<Socket>();
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const fake = { standing, asked: [] as string[], is_frozen: false, visitors: 0, sockets, cut };
  const take = (socket: Socket) => {
    fake.visitors += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.once('data', () => {
      if (fake.is_frozen) return;
      socket.write(Buffer.concat([message('R', Buffer.alloc(4)), ready]));
      const settings = new Map<string, string>();
      socket.on('data', (sent) => {
        for (const asked of statementsOf(sent)) {
          const answer = settingsAnswer(asked, settings);
          if (answer === undefined) fake.asked.push(asked);
          if (asked !== 'hang') socket.write(answer ?? answerOf(fake.standing));
        }
      });
    });
  };
  const server = createServer(take);
  await listen(server);
  const { port } = server.address() as AddressInfo;
  return Object.assign(fake, { server, url: `127.0.0.1:${port}` });
}

let [first, second]: FakeServer[] = [];
before(async () => {
  [first, second] = [await openFake(on(1)), await openFake(standby)];
});
after(() => {
  for (const fake of [first, second]) fake?.server.close();
});

test('waiters on an old primary are told, and all continue with the new one', async () => {
  const url = `postgres://sluice@${first!.url},${second!.url}/sluice`;
  const later: number[] = [];
  const db = openDatabase(url, {
    connections_max: 4,
    application_name: 'sluice-test',
    watch_ms: 20,
    onLater: (_before, { timeline }) => void later.push(timeline),
  });
  try {
    await db.text('one');
    assert.deepEqual([first!.asked.includes('one'), db.epoch()?.timeline], [true, 1]);
    const hanging = assert.rejects(db.text('hang'), /Connection terminated/);
    await eventually('it was not asked', async () => first!.asked.includes('hang'));
    // Promoted, and the old one takes writes as before.
    second!.standing = on(2);
    await hanging;
    await db.text('two');
    assert.deepEqual([second!.asked.includes('two'), first!.asked.includes('two')], [true, false]);
    assert.deepEqual([later, db.epoch()?.timeline], [[2], 2]);
    assert.match(await findPrimaryUrl(url), new RegExp(`@${second!.url}/`));
    // Nobody else takes writes, and the old one is not good enough.
    second!.standing = standby;
    second!.cut();
    await assert.rejects(async () => {
      await db.text('three').catch((error: unknown) => {
        if (error instanceof StoreAwayError) throw error;
      });
      await db.text('three');
    }, /No PostgreSQL server accepts writes/);
    assert.equal(first!.asked.includes('three'), false);
  } finally {
    await db.close();
  }
});

test('only waiters for a silent server are told', async () => {
  const fake = await openFake(on(1));
  const db = openDatabase(`postgres://sluice@${fake.url}/sluice`, {
    connections_max: 2,
    application_name: 'sluice-test',
    silence_ms: 20,
  });
  try {
    const hanging = db.text('hang');
    const told = hanging.then(
      () => 'answered',
      ({ message }: Error) => message,
    );
    // It is asked whether it is there, and is.
    await eventually('nobody looked', async () => fake.visitors > 1);
    await eventually('the look goes on', async () => fake.sockets.size === 1);
    assert.equal(await Promise.race([told, Promise.resolve('waits')]), 'waits');
    fake.is_frozen = true;
    assert.match(await told, /Connection terminated/);
  } finally {
    fake.cut();
    await db.close();
    fake.server.close();
  }
});

test('a server that takes no writes, or an old primary, is not worked on', async () => {
  first!.standing = standby;
  const db = openDatabase(`postgres://sluice@${first!.url}/sluice`, {
    connections_max: 1,
    application_name: 'sluice-test',
  });
  try {
    await assert.rejects(db.text('one'), StoreAwayError);
    first!.standing = on(3);
    await db.text('one');
    first!.standing = on(2);
    first!.cut();
    await eventually('it stayed connected', async () => first!.sockets.size === 0);
    await assert.rejects(async () => {
      // The pool may learn of the broken connection by this.
      await db.text('two').catch((error: unknown) => {
        if (error instanceof StoreAwayError) throw error;
      });
      await db.text('two');
    }, /old primary: it is on timeline 2, but timeline 3 exists/);
    assert.equal(first!.asked.includes('two'), false);
  } finally {
    await db.close();
  }
});
