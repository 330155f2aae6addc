import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../../test/eventually.ts';
import { createApiKey } from '../../platform/http/caller/api_key.ts';
import { serverEnvironment } from '../../../test/processes/server_process.ts';
import { openSluice } from '../../../test/processes/sluice_process.ts';
import { folderAroundTests } from '../../../test/around_tests.ts';
import { listen, urlOf } from '../../../test/servers/loopback.ts';

// `sluice import` as a process at a terminal's mercy, against an endpoint that answers when the
// test says so.

const main = fileURLToPath(new URL('../../main.ts', import.meta.url));
const key = createApiKey();
const lines = 12_000;

const sluice = openSluice();
after(() => sluice.close());
const folder = folderAroundTests();

/**
 * An endpoint that keeps the order of what it was sent, and holds back the answers to all but the
 * first lines until `release`.
 */
async function openEndpoint() {
  const sent: string[] = [];
  let isHolding = true;
  let onHeld = () => {};
  const held = new Promise<void>((resolve) => {
    onHeld = resolve;
  });
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString().split('\n');
    if (isHolding && !body[0]!.includes('"d0"')) return onHeld();
    sent.push(...body);
    const counts = { taken: body.length, duplicates: 0, rejected: 0, errors: [] };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(counts));
  };
  const server = createServer((request, response) => void answer(request, response));
  await listen(server);
  return {
    url: urlOf(server),
    sent,
    held,
    release: () => {
      isHolding = false;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const command = (file: string, more: string[]) => [
  'import',
  file,
  '--project',
  '1',
  '--key',
  key,
  ...more,
];
const environment = () => ({ ...serverEnvironment(folder, key), TMPDIR: folder });

/** Runs an import without interruption; returns its output and exit code. */
async function run(
  file: string,
  ...more: string[]
): Promise<{ code: number | null; output: string }> {
  const { code, out, err } = await sluice.run(command(file, more), environment());
  return { code, output: out + err };
}

function start(file: string, ...more: string[]) {
  const child = spawn(process.execPath, [main, ...command(file, more)], {
    env: environment(),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  return { child, ended, told: () => output };
}

async function endedEarly(ended: Promise<{ output: string }>): Promise<never> {
  assert.fail((await ended).output);
}

async function putLines(name: string): Promise<string> {
  const path = join(folder, name);
  const line = (index: number) => JSON.stringify({ event: 'e', distinct_id: `d${index}` });
  await writeFile(path, Array.from({ length: lines }, (_none, index) => line(index)).join('\n'));
  return path;
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  test(`${signal} stops an import with ${code}, and the command continues it`, async () => {
    const endpoint = await openEndpoint();
    const file = await putLines(`${signal}.ndjson`);
    const { child, ended, told } = start(file, '--url', endpoint.url);
    await Promise.race([endpoint.held, endedEarly(ended)]);
    await eventually('the first request is not counted', () => told().includes('lines'));
    child.kill(signal);
    assert.deepEqual(await ended, {
      code,
      output:
        `10000 of ${lines} lines\nStopped after line 10000 of ${lines}. The same command ` +
        'continues from there.\n',
    });
    endpoint.release();
    const again = await run(file, '--url', endpoint.url);
    assert.equal(again.code, 0, again.output);
    assert.match(again.output, /^Continuing after line 10000 /);
    const ids = endpoint.sent.map(
      (line) => (JSON.parse(line) as { distinct_id: string }).distinct_id,
    );
    assert.deepEqual(
      ids,
      Array.from({ length: lines }, (_none, index) => `d${index}`),
    );
    endpoint.close();
  });

test('standard input that does not end, and one that was read, stop too', async () => {
  const waiting = start('-', '--url', 'http://127.0.0.1:9');
  waiting.child.stdin.write('{"event":"e","distinct_id":"d"}\n');
  await eventually('standard input is not put aside', async () => {
    const [aside] = (await readdir(folder)).filter((name) => name.startsWith('sluice-import-'));
    return aside !== undefined && (await readdir(join(folder, aside))).includes('stdin');
  });
  waiting.child.kill('SIGINT');
  assert.deepEqual(await waiting.ended, {
    code: 130,
    output: 'Stopped before anything was sent.\n',
  });
  const left = (await readdir(folder)).filter((name) => name.startsWith('sluice-import-'));
  assert.deepEqual(left, [], 'what was put aside is gone');

  const endpoint = await openEndpoint();
  const { child, ended, told } = start('-', '--url', endpoint.url);
  child.stdin.end(await readFile(await putLines('piped.ndjson')));
  await Promise.race([endpoint.held, endedEarly(ended)]);
  await eventually('the first request is not counted', () => told().includes('lines'));
  child.kill('SIGINT');
  const { code, output } = await ended;
  assert.equal(code, 130);
  assert.match(output, /Stopped after line 10000 of 12000\. Give the same input again/);
  endpoint.close();
});

test('a wrong zone and a wrong address are refused before anything is read', async () => {
  const absent = join(folder, 'absent');
  for (const [options, message] of [
    [['--timezone', 'Mars/Base'], /^There is no time zone "Mars\/Base"/],
    [['--url', 'nonsense'], /^"nonsense" is not the address of a server/],
    [['--url', 'ftp://example.com'], /^"ftp:\/\/example.com" is not the address/],
  ] as const) {
    const { code, output } = await run(absent, ...options);
    assert.equal(code, 2);
    assert.match(output, message);
  }
});

test('a dry run shows the first events as stored, names bad lines, sends nothing', async () => {
  const file = join(folder, 'dry.ndjson');
  const line = (n: number) =>
    `{"who":${n},"at":"2023-09-30 05:00:03","n":12345678901234567890,"properties":{"who":"x"}}`;
  await writeFile(file, [line(1), line(2), line(3), line(4), '{"who":""}', '{}'].join('\n'));
  const mapping = ['--event-name', 'seen', '--distinct-id-field', 'who', '--timestamp-field', 'at'];
  const { code, output } = await run(
    file,
    '--url',
    'http://127.0.0.1:9',
    ...mapping,
    '--timezone',
    'Europe/Berlin',
    '--dry-run',
  );
  assert.equal(code, 1);
  assert.match(
    output,
    /"distinct_id": "1",\n {2}"timestamp": "2023-09-30T03:00:03.000000Z",\n {2}"properties": \{\n {4}"who": "x",\n {4}"n": 12345678901234567890\n/,
  );
  assert.equal(output.match(/"event": "seen"/g)!.length, 3);
  assert.match(output, /^line 5: The field "who" is missing or empty\.$/m);
  assert.match(output, /^4 lines would become events, 2 would be refused\. Nothing was sent\.$/m);
  await assert.rejects(readFile(`${file}.sluice-import`), { code: 'ENOENT' });
});

test('another mapping than the one that stored these lines is named and not sent', async () => {
  const endpoint = await openEndpoint();
  endpoint.release();
  const file = join(folder, 'wrong.ndjson');
  await writeFile(file, '{"event":"e","distinct_id":"d","user":"u"}\n');
  const at = ['--url', endpoint.url];
  assert.equal((await run(file, ...at)).code, 0);
  const refused = await run(file, ...at, '--distinct-id-field', 'user');
  assert.equal(refused.code, 1);
  assert.match(
    refused.output,
    /^Lines 1 to 1 of this file were imported with another mapping:\n {2}then {2}no option\n {2}now {3}--distinct-id-field "user"\n[\s\S]*--dry-run[\s\S]*delete \S+wrong\.ndjson\.sluice-import/,
  );
  assert.equal(endpoint.sent.length, 1);
  // With the same mapping it may be sent again, and with another one when the record is taken away.
  assert.equal((await run(file, ...at)).code, 0);
  await rm(`${file}.sluice-import`);
  assert.equal((await run(file, ...at, '--distinct-id-field', 'user')).code, 0);
  assert.equal(endpoint.sent.length, 3);
  endpoint.close();
});
