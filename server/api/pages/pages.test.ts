import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../../test/harness.ts';
import type { Harness } from '../../../test/harness.ts';
import { openMailServer } from '../../../test/servers/mail_server.ts';
import type { MailServer } from '../../../test/servers/mail_server.ts';
import {
  forgetAllAttempts,
  newPerson,
  password,
  setCookieOf,
  setUpSecondFactor,
  signedIn,
} from '../../../test/factories/people.ts';
import { systemClock } from '../../platform/clock.ts';
import { silentLog } from '../../platform/log.ts';
import { openMail } from '../../platform/mail/mail.ts';

const hostile = `<script>alert('1')</script>"><img src=x>&amp;`;
const escaped =
  '&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&gt;&lt;img src=x&gt;&amp;amp;';
const pages = [
  '/login',
  '/forgot-password',
  '/reset-password',
  '/reset-password/abc',
  '/verify-email',
  '/verify-email/abc',
];

let relay: MailServer;
let harness: Harness;
before(async () => {
  relay = await openMailServer();
  const mail = openMail({
    url: relay.url,
    from: 'Sluice <sluice@example.com>',
    log: silentLog(),
    clock: systemClock,
  });
  harness = await openHarness({
    clickhouse: false,
    deps: { mail },
    config: { github_client_id: 'id', github_client_secret: 'secret' },
  });
});
after(async () => {
  await harness.close();
  await relay.close();
});
beforeEach(() => forgetAllAttempts(harness));

const get = (path: string, headers: Record<string, string> = {}) =>
  harness.request('GET', path, { headers });

test(
  'every page is alone with this server, in no frame, in no cache, and tells its address to ' +
    'nobody',
  async () => {
    const cookie = await harness.newSession(await newPerson(harness));
    for (const path of [...pages, '/account', '/invite/x']) {
      const { status, headers, text } = await get(
        path,
        path === '/account' ? { cookie } : { accept: 'text/html' },
      );
      assert.equal(status, path === '/invite/x' ? 404 : 200, path);
      assert.equal(headers['content-type'], 'text/html; charset=utf-8');
      assert.equal(
        headers['content-security-policy'],
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; " +
          "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      );
      assert.deepEqual(
        [headers['referrer-policy'], headers['cache-control'], headers['x-content-type-options']],
        ['no-referrer', 'no-store', 'nosniff'],
      );
      assert.match(text, /^<!doctype html>\s*<html lang="en">/);
      for (const [, address] of text.matchAll(/(?:src|href|action)="([^"]*)"/g))
        assert.match(address!, /^\/(?!\/)/, path);
      assert.doesNotMatch(text, /<script(?! type="module" src=)|\son\w+=|\sstyle=|<style/, path);
    }
  },
);

test('no form can be sent before its script is there, and none into an address', async () => {
  const browser = await signedIn(harness, await newPerson(harness));
  const before = await browser.ask('GET', '/account');
  await setUpSecondFactor(harness, browser);
  const texts = [
    ...(await Promise.all(pages.map((path) => get(path)))),
    before,
    await browser.ask('GET', '/account'),
  ]
    .map(({ text }) => text)
    .join('\n');
  const forms = texts.match(/<form[^>]*>/g) ?? [];
  assert.ok(forms.length > 15);
  for (const form of forms) assert.match(form, / method="post"\s+action="\/api\//);
  for (const button of texts.match(/<button[^>]*>/g) ?? []) assert.match(button, /disabled/);
});

test(
  'stylesheet and scripts are kept for ever under the addresses that pages name, and asked for ' +
    'anew under others',
  async () => {
    const cookie = await harness.newSession(await newPerson(harness));
    const texts = await Promise.all(
      [...pages, '/account'].map((path) =>
        get(path, { cookie: path === '/account' ? cookie : '' }),
      ),
    );
    const found = new Set(
      texts.flatMap(({ text }) =>
        [...text.matchAll(/"(\/assets\/[^"]+)"/g)].map((match) => match[1]!),
      ),
    );
    assert.ok(found.size >= 5);
    // Sets take what is added while they are walked over: the scripts' own imports.
    for (const address of found) {
      const { status, headers, text } = await get(address, { accept: '*/*' });
      assert.deepEqual(
        [status, headers['cache-control'], headers['x-content-type-options']],
        [200, 'public, max-age=31536000, immutable', 'nosniff'],
        address,
      );
      assert.equal(
        headers['content-type'],
        address.includes('.css?') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
      );
      for (const [, imported] of text.matchAll(/ from '([^']+)'/g)) found.add(imported!);
      assert.match(address, /^\/assets\/\w+\.(css|js)\?v=[\w-]{16}$/);
      for (const other of [address.split('?')[0]!, `${address}x`])
        assert.equal((await get(other)).headers['cache-control'], 'no-cache', other);
    }
    assert.ok([...found].some((address) => address.startsWith('/assets/form.js')));
    for (const missing of [
      '/assets/',
      '/assets/x.js',
      '/assets/..%2fform.ts',
      '/assets/../routes.ts',
    ])
      assert.equal((await get(missing)).status, 404, missing);
  },
);

test('the ways lead to each other: signed in to the account, else to the sign-in', async () => {
  const browser = await signedIn(harness, await newPerson(harness));
  const cookie = browser.cookie()!;
  const cases: [string, string | undefined, number, string | undefined][] = [
    ['/', undefined, 303, '/login'],
    ['/', cookie, 303, '/account'],
    ['/login', undefined, 200, undefined],
    ['/login', cookie, 303, '/account'],
    ['/login', 'sluice_session=wrong', 200, undefined],
    ['/account', undefined, 303, '/login'],
    ['/account', cookie, 200, undefined],
    ['/account', 'sluice_session=wrong', 303, '/login'],
  ];
  for (const [path, shown, status, location] of cases) {
    const answer = await get(path, shown === undefined ? {} : { cookie: shown });
    assert.deepEqual(
      [answer.status, answer.headers['location']],
      [status, location],
      `${path} with ${shown}`,
    );
  }
  await browser.ask('DELETE', '/api/sessions/@current/');
  assert.equal((await get('/account', { cookie })).headers['location'], '/login');
});

test('a key opens no page', async () => {
  const { key } = await harness.newOrganization();
  assert.equal((await harness.request('GET', '/account', { key })).headers['location'], '/login');
});

test('a session gets its new cookie also when a page is first to use it on a new day', async () => {
  const { deps } = harness;
  const user = await newPerson(harness);
  const cookie = await harness.newSession(user);
  await deps.db.run(
    sql`UPDATE sessions SET token_created_at = token_created_at - interval '25 hours'
      WHERE user_id = ${user.id}`,
  );
  const answer = await get('/account', { cookie });
  assert.equal(answer.status, 200);
  const renewed = setCookieOf(answer)!.split(';')[0]!;
  assert.notEqual(renewed, cookie);
  assert.equal((await get('/account', { cookie: renewed })).status, 200);
});

test('the sign-in offers the providers that are set up', async () => {
  const { text } = await get('/login');
  assert.match(text, /href="\/login\/github\/"[^>]*>Continue with GitHub</);
  assert.doesNotMatch(text, /Google|GitLab/);
});

test('the account shows what is there, whatever it is called', async () => {
  const home = await harness.newOrganization({ name: `Home ${hostile}` });
  await harness.deps.db.run(
    sql`UPDATE organizations SET enforce_2fa = true WHERE id = ${home.organization.id}::uuid`,
  );
  await harness.deps.db.run(
    sql`UPDATE users SET first_name = ${`First ${hostile}`.slice(0, 150)}
      WHERE id = ${home.user.id}`,
  );
  await harness.newKey(home.user, {
    label: `Key ${hostile}`.slice(0, 100),
    scopes: ['user:read', 'event:write'],
  });
  const cookie = await harness.newSession(home.user);
  await harness.deps.db.run(
    sql`UPDATE sessions SET user_agent = ${`Agent ${hostile}`} WHERE user_id = ${home.user.id}`,
  );
  await harness.newSession(home.user);
  const { text } = await get('/account', { cookie });
  for (const name of ['Home', 'First', 'Key', 'Agent'])
    assert.ok(text.includes(`${name} ${escaped}`), name);
  assert.ok(!text.includes('<img') && !text.includes('<script>'));
  assert.ok(text.includes(home.user.email));
  assert.match(text, /Closed to you until you set up a second factor/);
  assert.match(text, /user:read, event:write/);
  assert.equal(text.match(/this browser/g)?.length, 1);
  assert.equal(text.match(/data-does="end_session"/g)?.length, 1);
  assert.match(text, /Mail me a link to confirm it/);
});

test('an account without a password is asked for none', async () => {
  const user = await newPerson(harness, { password_hash: null });
  const { text } = await get('/account', { cookie: await harness.newSession(user) });
  assert.match(text, /Choose a password/);
  assert.doesNotMatch(text, /name="current_password"/);
});

test(
  'what the API refuses, and what fails, is a page with its sentence, its Retry-After and the ' +
    'request id',
  async () => {
    const limited = await openHarness({ clickhouse: false, config: { rate_limit_per_minute: 2 } });
    const { row, rows } = limited.deps.db;
    try {
      const headers = {
        cookie: await limited.newSession(await newPerson(limited)),
        'x-request-id': 'asked-by-test',
      };
      const refused = await limited.request('GET', '/account', { headers });
      assert.deepEqual(
        [refused.status, refused.headers['content-type']],
        [429, 'text/html; charset=utf-8'],
      );
      assert.match(refused.headers['retry-after']!, /^\d+$/);
      assert.match(
        refused.text,
        /<h1>Too many requests<\/h1>[^]*try again in \d+ seconds[^]*asked-by-test/,
      );
      const lost = () =>
        Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
      Object.assign(limited.deps.db, { row: lost, rows: lost });
      const failed = await limited.request('GET', '/account', { headers });
      assert.deepEqual([failed.status, failed.headers['retry-after']], [503, '5']);
      assert.match(
        failed.text,
        /<h1>Not at the moment<\/h1>[^]*A store of the server does not answer[^]*asked-by-test/,
      );
    } finally {
      Object.assign(limited.deps.db, { row, rows });
      await limited.close();
    }
  },
);

test('nothing can be posted to a page', async () => {
  for (const path of ['/login', '/account', '/invite/x'])
    assert.equal((await harness.request('POST', path, { body: { password } })).status, 404, path);
});
