import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { eventually } from '../../../test/eventually.ts';
import { UserError } from '../user_error.ts';
import { openImporting } from '../../../test/factories/events/importing.ts';
import { aroundTests } from '../../../test/around_tests.ts';
import { listen, urlOf } from '../../../test/servers/loopback.ts';

const program = fileURLToPath(
  new URL('../../../test/processes/import_process.ts', import.meta.url),
);

const importing = aroundTests(openImporting);

test('a foreign file is mapped: names, nested ids, times without a zone, the rest', async () => {
  const owner = await importing.harness.newOrganization();
  const file = await importing.put(
    'foreign.ndjson',
    '{"type":"push","actor":{"login":"ann","id":1},"at":"2023-09-30 05:00:03",' +
      '"n":12345678901234567890}\n{"type":"pull","actor":{"login":7.0},"at":1.696050004E9}\n',
  );
  const mapping = {
    event_field: 'type',
    distinct_id_field: 'actor.login',
    timestamp_field: 'at',
    timezone: 'Europe/Berlin',
  };
  const { code, said } = await importing.run(owner, file, mapping);
  assert.deepEqual(
    [code, said.at(-1)],
    [0, '2 events stored, 0 were there already, 0 lines refused.'],
  );
  assert.deepEqual(
    (await importing.rows(owner)).map(({ uuid: _uuid, ...row }) => row),
    [
      {
        event: 'push',
        distinct_id: 'ann',
        timestamp: '2023-09-30T03:00:03.000000Z',
        properties: '{"actor":{"login":"ann","id":1},"n":12345678901234567890}',
      },
      {
        event: 'pull',
        distinct_id: '7',
        timestamp: '2023-09-30T05:00:04.000000Z',
        properties: '{"actor":{"login":7.0}}',
      },
    ],
  );
});

test('equal lines are different events; the same content imported twice is not', async () => {
  const owner = await importing.harness.newOrganization();
  const line = '{"event":"e","distinct_id":"d","timestamp":"2024-01-01T00:00:00Z"}';
  const text = `${line}\n`.repeat(5_200);
  const first = await importing.run(owner, await importing.put('equal.ndjson', text));
  assert.equal(first.said.at(-1), '5,200 events stored, 0 were there already, 0 lines refused.');
  const again = await importing.run(owner, await importing.put('equal.ndjson.gz', gzipSync(text)));
  assert.equal(again.said.at(-2), '0 events stored, 5,200 were there already, 0 lines refused.');
  const piped = await importing.run(owner, '-', {}, text);
  assert.equal(piped.said.at(-2), '0 events stored, 5,200 were there already, 0 lines refused.');
  const stored = await importing.rows(owner);
  assert.equal(stored.length, 5_200);
  for (const { uuid } of stored.slice(0, 10))
    assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab]/);
  const array = await importing.run(
    await importing.harness.newOrganization(),
    await importing.put(
      'array.json',
      `[\n ${line},\n${line} , {"event":"}],{\\"","distinct_id":"d"}]\n`,
    ),
  );
  assert.deepEqual(
    [array.code, array.said.at(-1)],
    [0, '3 events stored, 0 were there already, 0 lines refused.'],
  );
});

test('ids of the file become uuids, so that overlapping files double nothing', async () => {
  const owner = await importing.harness.newOrganization();
  const line = (id: unknown) => JSON.stringify({ id, event: 'e', distinct_id: 'd' });
  const own = '0190163d-8694-739b-aea5-966c26f8ad91';
  await importing.run(
    owner,
    await importing.put('one.ndjson', [line('17244207336'), line(7), line(own)].join('\n')),
    {
      uuid_field: 'id',
    },
  );
  const { said } = await importing.run(
    owner,
    await importing.put(
      'two.ndjson',
      [line('17244207336'), line('7'), line(own), line(8)].join('\n'),
    ),
    { uuid_field: 'id' },
  );
  assert.equal(said.at(-2), '1 event stored, 3 were there already, 0 lines refused.');
  assert.ok((await importing.rows(owner)).some((row) => row.uuid === own));
});

test('a killed import continues where it stopped, loses and doubles nothing', async () => {
  const owner = await importing.harness.newOrganization();
  // Twelve requests, four at a time: the kill falls among them.
  const lines = 58_000;
  const file = await importing.put(
    'killed.ndjson',
    Array.from(
      { length: lines },
      (_none, index) =>
        `{"event":"e","distinct_id":"d${index}","timestamp":"2024-01-01T00:00:00Z"}`,
    ).join('\n'),
  );
  const child = spawn(
    process.execPath,
    [program, file, String(owner.project.id), importing.url, owner.key],
    {
      stdio: 'ignore',
    },
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await eventually('it does not get on', () =>
    readFile(`${file}.sluice-import`, 'utf8').then(
      (text) => JSON.parse(text).line >= 5_000,
      () => false,
    ),
  );
  child.kill('SIGKILL');
  await ended;
  const { code, said } = await importing.run(owner, file);
  assert.equal(code, 0);
  assert.match(said[0]!, /^Continuing after line \d+ of/);
  assert.equal((await importing.rows(owner)).length, lines);
  assert.equal(JSON.parse(await readFile(`${file}.sluice-import`, 'utf8')).is_finished, true);
});

test('a server that asks to wait is waited for, one that refuses ends the import', async () => {
  const owner = await importing.harness.newOrganization();
  const file = await importing.put('wait.ndjson', '{"event":"e","distinct_id":"d"}');
  const answers = [
    [429, { 'retry-after': '0' }, { detail: 'Slow.' }],
    [503, { 'retry-after': '0' }, { detail: 'Later.' }],
    [200, {}, { taken: 1, duplicates: 0, rejected: 0, errors: [] }],
  ] as const;
  let asked = 0;
  const server = await serve(() => answers[Math.min(asked++, 2)]!);
  const { said } = await importing.run(owner, file, { url: addressOf(server) });
  assert.equal(asked, 3);
  assert.equal(said.at(-1), '1 event stored, 0 were there already, 0 lines refused.');
  server.close();
  await assert.rejects(
    importing.run(owner, file, {
      key: await importing.harness.newKey(owner.user, { scopes: ['user:read'] }),
    }),
    /The import stopped: the server answered 403: The API key lacks the scope event:write/,
  );
  await assert.rejects(
    importing.run(owner, file, { project: '2147483647' }),
    /has no project 2147483647 that this key may see\. Check --project, /,
  );
  await assert.rejects(
    importing.run(owner, file, { url: 'http://127.0.0.1:9', wait_ms_max: 100 }),
    /cannot be reached.* Run the same command again/,
  );
  await assert.rejects(importing.run(owner, join(importing.folder, 'none')), /There is no file/);
  await assert.rejects(
    importing.run(
      owner,
      await importing.put('cut.gz', gzipSync('x'.repeat(9_000)).subarray(0, 30)),
    ),
    /gzip data of .* is broken/,
  );
  for (const cut of ['[{"event":"e","distinct_id":"d"}', '[{"event":"e"},{"event":"f', '[']) {
    await assert.rejects(
      importing.run(owner, await importing.put('cut.json', cut)),
      /The JSON array in .* has no end: the file is cut off\./,
    );
  }
});

test('an answer that does not speak of the lines stops the import', async () => {
  const owner = await importing.harness.newOrganization();
  const file = await importing.put(
    'proxy.ndjson',
    '{"event":"e","distinct_id":"d"}\n{"event":"f","distinct_id":"d"}',
  );
  const refusal = (attr: string | null) => ({ attr, code: 'blank', detail: 'No.' });
  const answers: [number, unknown, RegExp][] = [
    [400, { detail: 'Bad request.' }, /the server answered 400: Bad request/],
    [400, { errors: [] }, /the server answered 400: no reason given/],
    [400, { errors: [refusal('lines__1__event')] }, /the server answered 400/],
    [400, { errors: [refusal('lines__1__event'), refusal(null)] }, /the server answered 400/],
    [200, 'welcome', /does not account for all 2 lines/],
    [200, { taken: 1 }, /does not account for all 2 lines/],
  ];
  for (const [status, body, message] of answers) {
    const server = await serve(() => [status, {}, body]);
    await assert.rejects(
      importing.run(owner, file, { url: addressOf(server) }),
      (error: Error) => error instanceof UserError && message.test(error.message),
    );
    server.close();
    await assert.rejects(readFile(`${file}.sluice-import`), { code: 'ENOENT' });
  }
  assert.equal(
    (await importing.run(owner, file)).said.at(-1),
    '2 events stored, 0 were there already, 0 lines refused.',
  );
});

async function serve(
  next: () => readonly [number, Record<string, string>, unknown],
): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const [status, headers, body] = next();
      response.writeHead(status, { ...headers, connection: 'close' }).end(JSON.stringify(body));
    });
  });
  return listen(server);
}

function addressOf(server: Server): string {
  return urlOf(server);
}
