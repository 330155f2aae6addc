import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { StoreAwayError } from '../../store_away.ts';
import { openClickHouse } from '../client.ts';
import type { ClickHouse } from '../client.ts';
import { caughtUp } from './caught_up.ts';

/** A peer at an address: its name, and whether the replica has caught up. */
type Peer = { name: string; is_behind: boolean; asked: string[]; server: Server };

async function openPeer(name: string): Promise<Peer> {
  const peer: Peer = { name, is_behind: false, asked: [], server: undefined! };
  peer.server = createServer((request, response) => {
    let query = new URL(request.url!, 'http://peer').searchParams.get('query') ?? '';
    request.on('data', (bytes: Buffer) => (query += bytes.toString()));
    request.on('end', () => {
      if (query.includes('system.replicas')) return void response.end('{"is_readonly":0}\n');
      peer.asked.push(query.trim().split('\n')[0]!);
      response.setHeader('x-clickhouse-server-display-name', peer.name);
      if (!peer.is_behind || !query.startsWith('SYSTEM')) return void response.end('{"a":1}\n');
      response.statusCode = 500;
      response.setHeader('x-clickhouse-exception-code', '159');
      response.end('Code: 159. DB::Exception: SYNC REPLICA timed out. (TIMEOUT_EXCEEDED)');
    });
  }).listen(0, '127.0.0.1');
  await once(peer.server, 'listening');
  return peer;
}

describe('replicas', () => {
  let peers: Peer[];
  let clickhouse: ClickHouse;
  let changes = 0;
  let turns = 0;
  before(async () => {
    peers = [await openPeer('a'), await openPeer('b')];
    const urls = peers.map(
      ({ server }) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    );
    clickhouse = openClickHouse(urls.join(','), {
      application: 'sluice-test',
      onReplicaChange: () => (changes += 1),
      beforeInsert: async () => void (turns += 1),
    });
    clickhouse.mode = { kind: 'on_cluster', cluster: 'main', database: 'analytics' };
  });
  after(async () => {
    await clickhouse.close();
    for (const { server } of peers) server.closeAllConnections();
    await Promise.all(peers.map(({ server }) => new Promise((done) => server.close(done))));
  });

  const ask = async (query: string) => {
    const answer = await clickhouse.query({ query, format: 'JSONEachRow' });
    await answer.text();
    return peers.find(({ asked }) => asked.some((text) => text.startsWith(query)))!;
  };

  test('work that decides is done on one that has caught up', async () => {
    const first = await ask('SELECT 0');
    const other = peers.find((peer) => peer !== first)!;
    const found = await caughtUp(clickhouse, ['events'], () => ask('SELECT 1'));
    assert.equal(found, first);
    assert.ok(first.asked.includes('SYSTEM SYNC REPLICA events LIGHTWEIGHT'));
    first.is_behind = true;
    assert.equal(await caughtUp(clickhouse, ['events'], () => ask('SELECT 2')), other);
    assert.equal(changes, 1);
    other.is_behind = true;
    await assert.rejects(
      caughtUp(clickhouse, ['events'], () => ask('SELECT 3')),
      /timed out/,
    );
    first.is_behind = other.is_behind = false;
  });

  test('an insert waits for its turn where there are replicas, and nothing else does', async () => {
    const { mode } = clickhouse;
    const insert = () =>
      clickhouse.insert({ table: 'events', values: [{ a: 1 }], format: 'JSONEachRow' });
    await ask('SELECT 5');
    await clickhouse.command({ query: 'ALTER TABLE events DELETE WHERE 0' });
    assert.equal(turns, 0);
    await clickhouse.command({ query: ' insert INTO events SELECT 1' });
    await insert();
    assert.equal(turns, 2);
    clickhouse.mode = { kind: 'one_node' };
    await insert();
    clickhouse.mode = mode;
    assert.equal(turns, 2);
  });

  test('work in progress stays on its replica, even if others move', async () => {
    await caughtUp(clickhouse, ['events'], async () => {
      const first = await ask('SELECT 10');
      const other = peers.find((peer) => peer !== first)!;
      first.is_behind = true;
      assert.equal(await caughtUp(clickhouse, ['events'], () => ask('SELECT 11')), other);
      first.is_behind = false;
      // It still has what its readers waited for.
      assert.equal(await ask('SELECT 12'), first);
    });
  });

  test('an address behind which another one answers ends what is read', async () => {
    const first = await caughtUp(clickhouse, ['events'], () => ask('SELECT 20'));
    first.name = 'c';
    await assert.rejects(ask('SELECT 21'), /A different replica/);
    assert.equal(await ask('SELECT 22'), first);
  });

  test('work leaves a replica that is away', async () => {
    let first: Peer | undefined;
    const before_it = changes;
    await caughtUp(clickhouse, ['events'], async () => {
      first = await ask('SELECT 30');
      first.server.closeAllConnections();
      await new Promise((done) => first!.server.close(done));
      await assert.rejects(ask('SELECT 31'));
      // Another one would be one that nobody waited for, so the work has to be begun anew.
      await assert.rejects(ask('SELECT 32'), StoreAwayError);
    });
    assert.notEqual(await ask('SELECT 33'), first);
    assert.equal(changes, before_it + 1);
  });
});
