import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { folderAroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { leastEnvironment, openSluice } from '../../../test/processes/sluice_process.ts';
import { listen, urlOf } from '../../../test/servers/loopback.ts';

const sluice = openSluice();
const folder = folderAroundTests();
let harness: Harness;
let home: TestOrganization;
let address: string;
before(async () => {
  harness = await openHarness({ clickhouse: false });
  home = await harness.newOrganization();
  address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
});
after(async () => {
  await sluice.close();
  await harness.close();
});

const main = join(import.meta.dirname, '../../main.ts');
const config = (name: string) => ({ XDG_CONFIG_HOME: join(folder, name) });
const profilesOf = (name: string) => join(folder, name, 'sluice/profiles.json');

test('login keeps a profile that its owner alone can read; use, list and logout', async () => {
  const at = config('login');
  const run = (words: string, more = {}) => sluice.run(words.split(' '), { ...at, ...more });
  const none = await run('exports list');
  assert.deepEqual([none.code, /no API key for .*run `sluice login`/.test(none.err)], [4, true]);
  const entered = await run(`login --url ${address}/ --key ${home.key}`);
  assert.equal(entered.code, 0, entered.err);
  assert.ok(entered.out.startsWith(`Signed in to ${address} as ${home.user.email}.\n`));
  const file = profilesOf('login');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(statSync(join(file, '..')).mode & 0o777, 0o700);
  assert.equal((await run('api users/@me')).code, 0);
  const other = await harness.newOrganization();
  const second = `login --url ${address} --key ${other.key} --profile two --project 7`;
  assert.match((await run(second)).out, /Profile two, in use instead of default/);
  assert.equal((await run('profiles')).out, `default\t${address}\t\t\ntwo\t${address}\t7\tyes\n`);
  assert.doesNotMatch((await run('profiles --json')).out, /slk_/);
  const emailOf = async (words: string, more = {}) =>
    JSON.parse((await run(`api users/@me ${words}`.trim(), more)).out).email as string;
  assert.equal(await emailOf(''), other.user.email);
  assert.equal(await emailOf('--profile default'), home.user.email);
  assert.equal(await emailOf('', { SLUICE_PROFILE: 'default' }), home.user.email);
  assert.equal(await emailOf('', { SLUICE_API_KEY: home.key }), home.user.email);
  // An empty variable is none.
  assert.equal(await emailOf('', { SLUICE_API_KEY: '', SLUICE_URL: ' ' }), other.user.email);
  assert.equal((await run('profiles default')).code, 0);
  assert.equal(await emailOf(''), home.user.email);
  assert.match((await run('exports list --profile three')).err, /no profile three \(there are/);
  assert.match((await run('logout')).out, /^Removed the profile default/);
  assert.equal((await run('logout --profile two')).code, 0);
  const nobody = await run('logout');
  assert.deepEqual([nobody.code, nobody.err.trim()], [2, 'There is no profile to remove.']);
  assert.equal((await run('exports list')).code, 4);
});

test('a refused or empty key, and a server that is away, leave the profile unchanged', async () => {
  const at = config('kept');
  await sluice.run(['login', '--url', address, '--key', home.key], at);
  const before = readFileSync(profilesOf('kept'), 'utf8');
  for (const [words, code, said] of [
    [['--url', address, '--key', 'slk_wrong'], 4, /refused the API key/],
    [['--url', 'http://127.0.0.1:9', '--key', home.key], 3, /cannot be reached: ECONNREFUSED/],
    [['--url', 'sluice'], 2, /is not the address of a server/],
  ] as const) {
    const told = await sluice.run(['login', ...words], at);
    assert.match(told.err, said);
    assert.equal(told.code, code);
  }
  for (const input of ['', '\n', home.key]) {
    const child = spawn(process.execPath, [main, 'login', '--url', address], {
      env: { ...leastEnvironment(), ...at },
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    child.stdin.end(input);
    const [code] = await once(child, 'close');
    assert.equal(code, input === home.key ? 0 : 2, input);
  }
  assert.equal(readFileSync(profilesOf('kept'), 'utf8'), before);
  writeFileSync(profilesOf('kept'), '{"profiles": []}');
  const broken = await sluice.run(['exports', 'list'], at);
  assert.deepEqual(
    [broken.code, /is not a valid file of profiles: remove it/.test(broken.err)],
    [1, true],
  );
});

test('a key of a profile goes to no other address', async (context) => {
  const at = config('bound');
  await sluice.run(['login', '--url', address, '--key', home.key], at);
  const heard: (string | undefined)[] = [];
  const other = createServer((asked, response) => {
    heard.push(asked.headers.authorization);
    response.end('{}');
  });
  context.after(() => other.close());
  await listen(other);
  const told = await sluice.run(['api', 'projects', '--url', urlOf(other)], at);
  assert.deepEqual([told.code, heard], [4, []], told.err);
});

test('an expired key and foreign answers are named', async (context) => {
  const expired = await harness.newOrganization();
  await harness.deps.db.run(sql`UPDATE personal_api_keys SET expires_at = now() - interval '1 day'
    WHERE user_id = ${expired.user.id}`);
  const target = (url: string, key = home.key) => ['exports', 'list', '--url', url, '--key', key];
  const old = await sluice.run(target(address, expired.key), {});
  assert.equal(old.code, 4);
  assert.match(
    old.err,
    /unknown, expired or revoked\. Sign in with a valid key: `sluice login --url/,
  );
  let answer: [number, string] = [200, '<html>'];
  const page = createServer((_asked, response) => response.writeHead(answer[0]).end(answer[1]));
  context.after(() => page.close());
  await listen(page);
  for (const [given, code, said] of [
    [[200, '<html>'], 1, /without JSON: is this the address of a Sluice server\?/],
    [[200, 'null'], 1, /without JSON/],
    [[302, ''], 1, /answered 302/],
    [[502, 'Bad gateway'], 3, /answered 502 without JSON: try again later/],
    [[503, '{"detail":"Starting."}'], 3, /answered 503: Starting\. Try again later/],
    [[429, '{"detail":"Slowly."}'], 3, /answered 429: Slowly\./],
    [[403, '{"detail":"Not you."}'], 4, /Forbidden: Not you\./],
  ] as [[number, string], number, RegExp][]) {
    answer = given;
    const told = await sluice.run(target(urlOf(page)), {});
    assert.match(told.err, said);
    assert.deepEqual([told.code, told.out], [code, '']);
  }
});

test('api asks any route: fields, types, bodies, queries; refusals on both outputs', async () => {
  const at = { SLUICE_URL: address, SLUICE_API_KEY: home.key };
  const api = (...words: string[]) => sluice.run(['api', ...words], at);
  const project = JSON.parse((await api('/api/projects/@current/')).out);
  assert.equal(project.id, home.project.id);
  assert.equal(JSON.parse((await api('projects/{project}')).out).id, home.project.id);
  const created = await api(
    'projects/{project}/batch_exports',
    ...'-f name=007 destination.type=NoOp -f interval=day'.split(' '),
    ...'-F paused=true destination.config={}'.split(' '),
  );
  assert.equal(created.code, 0, created.err);
  const { id, name, paused } = JSON.parse(created.out);
  assert.deepEqual([name, paused], ['007', true]);
  const listed = await api('projects/{project}/overview', '-X', 'get', '-f', 'search=007');
  assert.equal(JSON.parse(listed.out).count, 1);
  assert.equal(JSON.parse((await api('projects/{project}/overview?search=none')).out).count, 0);
  const one = `projects/{project}/batch_exports/${id}`;
  const stale = await api(one, '-X', 'PATCH', '-f', 'name=b', '-H', 'If-Match: "stale"');
  assert.equal(JSON.parse(stale.out).status, 412);
  assert.equal(stale.code, 1);
  const body = join(folder, 'body.json');
  writeFileSync(body, '{"name": "from a file"}');
  assert.equal(
    JSON.parse((await api(one, '-X', 'PATCH', '--input', body)).out).name,
    'from a file',
  );
  const gone = await api(one, '-X', 'DELETE');
  assert.deepEqual([gone.code, gone.out], [0, '']);
  const missing = await api(one);
  assert.deepEqual([missing.code, JSON.parse(missing.out).status], [1, 404]);
  for (const words of [
    ['projects', '-f', 'noequals'],
    ['projects', '-H', 'nocolon'],
    ['projects', '--input', '/nowhere'],
    ['projects', '--input', main],
    ['projects', '--input', body, '-f', 'a=b'],
    ['-X', 'GET'],
  ]) {
    const wrong = await api(...words);
    assert.deepEqual([wrong.code, wrong.out], [2, ''], words.join(' '));
  }
  // Without a path it starts the API, by the settings of a server.
  const started = await sluice.run(['api'], { SLUICE_PORT: 'none' });
  assert.deepEqual([started.code, /SLUICE_PORT must be a whole/.test(started.err)], [2, true]);
});

test('an unwritable folder is named; a file that all may read is mended', async () => {
  const at = config('modes');
  mkdirSync(join(folder, 'modes/sluice'), { recursive: true });
  const file = profilesOf('modes');
  writeFileSync(file, JSON.stringify({ current: 'a', profiles: {} }));
  chmodSync(file, 0o644);
  await sluice.run(['login', '--url', address, '--key', home.key], at);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const nowhere = { XDG_CONFIG_HOME: join(file, 'inner') };
  const told = await sluice.run(['login', '--url', address, '--key', home.key], nowhere);
  assert.deepEqual([told.code, /cannot be written: ENOTDIR/.test(told.err)], [1, true], told.err);
});
