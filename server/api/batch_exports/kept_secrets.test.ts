import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import {
  attrsOf,
  newExport,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import { places_cases } from '../../../test/factories/batch_exports/destination_places.ts';
import { inTurn, is_deep } from '../../../test/depth.ts';
import { destinations, findDestination } from '../../engine/destinations/index.ts';
import { shareHome } from '../../../test/shared_home.ts';
import { listen } from '../../../test/servers/loopback.ts';

const { home } = shareHome();

const ask = (method: string, path: string, body: unknown) => home.ask(method, path, body);
const required = (keys: readonly string[]) =>
  keys.map((key) => `destination__config__${key} required`).toSorted();

test('each key without a secret is listed as leading somewhere or not', () => {
  for (const { type, config, secrets, where } of destinations) {
    const cases = places_cases.filter((one) => one.type === type);
    const keysOf = (changes: object[]) => new Set(changes.flatMap((one) => Object.keys(one)));
    const moves = keysOf(cases.flatMap((one) => one.moves));
    const stays = keysOf(cases.flatMap((one) => one.stays));
    const open = (keys: Iterable<string>) =>
      [...keys].filter((key) => !secrets.includes(key)).toSorted();
    assert.deepEqual(open(moves), open(where), `${type} says where`);
    assert.deepEqual(
      open(moves.union(stays)),
      open(Object.keys(config.properties)),
      `${type} has these keys`,
    );
  }
});

for (const { type, config, moves, stays } of inTurn(places_cases, 4)) {
  test(`${type} (${Object.keys(config).join(', ')}): another place asks for secrets`, async () => {
    const { secrets } = findDestination(type)!;
    const stored = secrets.filter((key) => Object.hasOwn(config, key));
    const created = await newExport(home, { destination: { type, config } });
    const url = `${projectBase(home)}${created.id}/`;
    const shown = created.destination.config;
    const ways = (change: object): [string, string, object][] => [
      ['PATCH', url, { destination: { config: change } }],
      ['PATCH', `${url}?validate_only=true`, { destination: { config: change } }],
      ['PUT', url, { ...created, destination: { type, config: { ...shown, ...change } } }],
      ['POST', `${url}test/?validate_only=true`, { destination: { config: change } }],
      ['POST', `${url}preview/?validate_only=true`, { destination: { config: change } }],
    ];
    for (const [number, change] of moves.entries()) {
      const asked = stored.filter((key) => !Object.hasOwn(change, key));
      // The first change by every way, each other one by the way whose turn it is.
      const all = ways(change);
      const tried = is_deep || number === 0 ? all : [all[number % all.length]!];
      for (const [method, path, body] of tried) {
        const refused = await ask(method, path, body);
        const said = `${method} ${path} ${JSON.stringify(change)}`;
        assert.deepEqual([refused.status, attrsOf(refused)], [400, required(asked)], said);
        assert.match(refused.body.detail, /belongs to another /, said);
      }
      const known = Object.fromEntries(asked.map((key) => [key, config[key]]));
      const body = { destination: { config: { ...change, ...known } } };
      const told = await ask('PATCH', `${url}?validate_only=true`, body);
      assert.equal(told.status, 200, told.text);
    }
    for (const change of stays) {
      const body = { destination: { config: change } };
      const kept = await ask('PATCH', `${url}?validate_only=true`, body);
      assert.equal(kept.status, 200, `${JSON.stringify(change)}: ${kept.text}`);
    }
    const now = await home.ask('GET', url);
    assert.deepEqual(now.body, created);
  });
}

test('a safer way, an empty secret, a removed one and another type ask for nothing', async () => {
  const { config } = places_cases.find(({ type }) => type === 'Postgres')!;
  const loose = { ...config, has_self_signed_cert: true, require_tls: false };
  const created = await newExport(home, {
    destination: { type: 'Postgres', config: loose },
  });
  const patch = (id: string, destination: object) =>
    ask('PATCH', `${projectBase(home)}${id}/`, { destination });
  const safer = { has_self_signed_cert: false, require_tls: true };
  assert.equal((await patch(created.id, { config: safer })).status, 200);
  assert.deepEqual(attrsOf(await patch(created.id, { config: { require_tls: false } })), [
    'destination__config__password required',
    'destination__config__ssh_password required',
    'destination__config__ssh_private_key required',
    'destination__config__ssh_private_key_passphrase required',
  ]);
  const url = 'https://api.example.com/';
  const http = { type: 'HTTP', config: { url, token: 'pl4nted-word' } };
  const open = await newExport(home, { destination: { type: 'HTTP', config: { url } } });
  assert.equal((await patch(open.id, { config: { url: `${url}other` } })).status, 200);
  assert.equal((await patch(created.id, http)).status, 200);
  const bare = { config: { url: `${url}other`, token: null } };
  assert.equal((await patch(created.id, bare)).status, 200);
});

/** Opens the address that a change tries to send a stored secret to; it counts its visitors. */
async function openListener() {
  let heard = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    heard += 1;
    sockets.add(socket);
    socket.once('data', () => socket.destroy());
    socket.on('error', () => undefined);
    // A server of MySQL speaks first; its client would wait half a minute for a whole greeting.
    setImmediate(() => socket.end('hello'));
  });
  await listen(server);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    heard: () => heard,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

test('a listener at the new address hears nothing before the secret was sent again', async () => {
  const listener = await openListener();
  const url = `http://127.0.0.1:${listener.port}/`;
  const place: Record<string, object> = {
    S3: { endpoint_url: url },
    AzureBlob: { endpoint_url: url },
    GCS: { endpoint_url: url },
    Postgres: { ssh_host: null, host: '127.0.0.1', port: listener.port, require_tls: false },
    Redshift: { ssh_host: null, host: '127.0.0.1', port: listener.port, require_tls: false },
    Snowflake: { host: `127.0.0.1:${listener.port}` },
    ClickHouse: { url },
    MySQL: { ssh_host: '127.0.0.1', ssh_port: listener.port },
    HTTP: { url },
  };
  // The stored config leads to a port without a listener.
  const nowhere = (change: object) =>
    JSON.parse(JSON.stringify(change).replaceAll(String(listener.port), '2')) as object;
  try {
    for (const { type, config } of inTurn(places_cases, 3)) {
      const change = place[type];
      // A config with a role asks AWS first, which no test reaches.
      if (change === undefined || (type === 'S3' && 'aws_role_arn' in config)) continue;
      const stored = { ...config, ...nowhere(change) };
      const created = await newExport(home, { destination: { type, config: stored } });
      const one = `${projectBase(home)}${created.id}/`;
      const before = listener.heard();
      const body = { destination: { config: change } };
      assert.equal((await ask('PATCH', one, body)).status, 400, type);
      assert.equal((await ask('POST', `${one}test/`, body)).status, 400, type);
      await ask('POST', `${one}test/`, {});
      assert.equal(listener.heard(), before, `${type} was heard`);
      // Asks Google for a token first, which no test reaches.
      if (type === 'GCS') continue;
      const whole = { destination: { config: { ...stored, ...change } } };
      assert.equal((await ask('PATCH', one, whole)).status, 200, type);
      await ask('POST', `${one}test/`, {});
      assert.ok(listener.heard() > before, `${type} goes where who knows the secret leads it`);
    }
  } finally {
    await listener.close();
  }
});

test("the page about stored secrets has each destination's secrets and place keys", async () => {
  const page = await readFile(new URL('../../../docs/stored_secrets.md', import.meta.url), 'utf8');
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').slice(1, 4))
    .map((cells) => cells.map((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name)));
  assert.deepEqual(
    rows,
    destinations.map(({ type, secrets, where }) => [[type], [...secrets], [...where]]),
  );
});
