import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createApiKey } from '../platform/http/caller/api_key.ts';
import { ConfigError, readConfig, settings } from './config.ts';
import { fileVariable } from './from_files.ts';

const problemsOf = (environment: Record<string, string>): string[] => {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems.map(({ variable }) => variable);
  }
};

test('without a variable everything has its default', () => {
  const config = readConfig({ HOME: '/home/somebody' });
  assert.deepEqual(
    [config.port, config.public_url, config.dns_servers, config.smtp_url],
    [8000, 'http://127.0.0.1:8000', [], undefined],
  );
  assert.deepEqual(
    [config.google_client_id, config.google_client_secret, config.gitlab_url],
    [undefined, undefined, 'https://gitlab.com'],
  );
});

const key = createApiKey();
const cases: [Record<string, string>, string[]][] = [
  [{ SLUICE_PORT: '' }, []],
  [{ SLUICE_PORT: ' 80 ' }, []],
  [{ SLUICE_OWNER_API_KEY: key }, []],
  [
    { SLUICE_OWNER_API_KEY: key.slice(0, -1) + (key.endsWith('0') ? '1' : '0') },
    ['SLUICE_OWNER_API_KEY'],
  ],
  [
    { SLUICE_PORT: '80.5', SLUICE_LOG_LEVEL: 'loud', SLUICE_PROT: '80' },
    ['SLUICE_PROT', 'SLUICE_PORT', 'SLUICE_LOG_LEVEL'],
  ],
  [{ SLUICE_GOOGLE_CLIENT_ID: 'id', SLUICE_GOOGLE_CLIENT_SECRET: 'secret' }, []],
  [{ SLUICE_GOOGLE_CLIENT_ID: 'id' }, ['SLUICE_GOOGLE_CLIENT_SECRET']],
  [
    { SLUICE_GITHUB_CLIENT_SECRET: 'secret', SLUICE_GITHUB_CLIENT_ID: '  ' },
    ['SLUICE_GITHUB_CLIENT_ID'],
  ],
  [
    { SLUICE_GITLAB_CLIENT_ID: 'id', SLUICE_GITLAB_URL: 'gitlab.example.com' },
    ['SLUICE_GITLAB_URL', 'SLUICE_GITLAB_CLIENT_SECRET'],
  ],
  [
    { SLUICE_OPENID_CLIENT_ID: 'id', SLUICE_OPENID_CLIENT_SECRET: 'secret' },
    ['SLUICE_OPENID_ISSUER'],
  ],
  [
    { SLUICE_OPENID_ISSUER: 'https://id.example/realms/acme' },
    ['SLUICE_OPENID_CLIENT_ID', 'SLUICE_OPENID_CLIENT_SECRET'],
  ],
  [{ HTTPS_PROXY: 'socks5://proxy:1080' }, ['HTTPS_PROXY']],
  [{ SLUICE_HTTP_PROXY: 'http://proxy:3128/path' }, ['SLUICE_HTTP_PROXY']],
  [{ no_proxy: 'localhost,10.0.0.0/33' }, ['no_proxy']],
  // Some readers take these for 10.0.0.1, 8.0.0.1 and 10.0.0.0/8.
  [{ SLUICE_OUTBOUND_ALLOW: '10.1' }, ['SLUICE_OUTBOUND_ALLOW']],
  [{ SLUICE_TRUSTED_PROXIES: '10.0.0.2, 010.0.0.1' }, ['SLUICE_TRUSTED_PROXIES']],
  [{ SLUICE_TRUSTED_PROXIES: '10/8' }, ['SLUICE_TRUSTED_PROXIES']],
  [{ SLUICE_DNS_SERVERS: '1.1.1' }, ['SLUICE_DNS_SERVERS']],
  [{ SLUICE_DNS_SERVERS: '1.1.1.1:5353, [::1]:53, ::1' }, []],
  [{ SLUICE_PROXY_CONNECT: 'host' }, ['SLUICE_PROXY_CONNECT']],
];

test('every wrong setting is named, and a part of a group names the rest', () => {
  for (const [environment, expected] of cases)
    assert.deepEqual(problemsOf(environment), expected, JSON.stringify(environment));
});

test('a misspelt setting is told the nearest one', () => {
  for (const [given, told] of [
    ['SLUICE_PROT', /^is not a setting\. Is it SLUICE_PORT\?$/],
    ['SLUICE_SECRET_KEY_FIL', /Is it SLUICE_SECRET_KEY_FILE\?$/],
    ['SLUICE_NOTHING_LIKE_IT', /docs\/configuration\.md lists all\.$/],
  ] as const)
    assert.throws(
      () => readConfig({ [given]: '1' }),
      (error: ConfigError) => told.test(error.problems[0]!.detail),
      given,
    );
});

test('the name of a setting and what is wrong with it are one sentence', () => {
  for (const SLUICE_SMTP_URL of [
    'relay',
    'http://relay',
    'smtp://relay/path',
    'smtp://',
    'smtp://user@relay',
    'smtp://a%zz:b@relay',
  ])
    assert.throws(
      () => readConfig({ SLUICE_SMTP_URL }),
      (error: ConfigError) => error.problems.every(({ detail }) => /^must [^.]+\.$/.test(detail)),
      SLUICE_SMTP_URL,
    );
});

test('a bare % is refused in every setting that is a URL, and a written one is taken', () => {
  const schemes = ['http', 'https', 'postgres', 'smtp'];
  const spelt = (password: string) =>
    schemes.map((scheme) => `${scheme}://u:${password}@127.0.0.1:1`);
  const wrongIn = (variable: string, value: string) => {
    try {
      readConfig({ [variable]: value });
      return undefined;
    } catch (error) {
      return (error as ConfigError).problems.find((problem) => problem.variable === variable)
        ?.detail;
    }
  };
  const isUrl = ({ read }: { read: (text: string) => unknown }) => {
    try {
      read('://');
      return false;
    } catch (error) {
      return (error as Error).message.startsWith('must be a URL');
    }
  };
  const urls = Object.values(settings).filter(isUrl);
  const names = urls.map(({ variable }) => variable);
  for (const name of ['SLUICE_CLICKHOUSE_URL', 'SLUICE_DATABASE_URL', 'SLUICE_HTTPS_PROXY'])
    assert.ok(names.includes(name), name);
  assert.ok(urls.length >= 12, names.join());
  for (const { variable } of urls) {
    // Each takes one of the schemes.
    const taken = spelt('50%25off').findIndex((value) => wrongIn(variable, value) === undefined);
    assert.notEqual(taken, -1, variable);
    const said = wrongIn(variable, spelt('50%off')[taken]!);
    assert.equal(said, 'must be percent-encoded: a % in a user or password is written %25.');
  }
});

test('the usual variables of proxies are looked at where ours are not set', () => {
  const config = readConfig({
    HTTPS_PROXY: 'proxy.example:3128',
    https_proxy: 'http://other:1',
    SLUICE_HTTP_PROXY: 'http://ours:3128',
    HTTP_PROXY: 'http://theirs:3128',
    no_proxy: 'a.example, 10.0.0.0/8',
  });
  assert.deepEqual(
    [config.https_proxy, config.http_proxy, config.no_proxy],
    ['http://proxy.example:3128', 'http://ours:3128', ['a.example', '10.0.0.0/8']],
  );
});

test('a setting can be in a file', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-config-'));
  context.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'key');
  await writeFile(path, `${'k'.repeat(32)}\n`);
  await writeFile(join(folder, 'empty'), '\n');
  await writeFile(join(folder, 'long'), 'k'.repeat(70_000));
  assert.equal(readConfig({ SLUICE_SECRET_KEY_FILE: path }).secret_key, 'k'.repeat(32));
  assert.equal(readConfig({ SLUICE_PORT: '80', SLUICE_SECRET_KEY_FILE: '' }).secret_key, undefined);
  const refused: [Record<string, string>, RegExp][] = [
    [{ SLUICE_SECRET_KEY_FILE: path, SLUICE_SECRET_KEY: 'x' }, /_FILE: is set beside SLUICE_SEC/],
    [{ SLUICE_SECRET_KEY_FILE: join(folder, 'none') }, /_KEY_FILE: names .*none, which does not/],
    [{ SLUICE_SECRET_KEY_FILE: folder }, /which is a folder/],
    [{ SLUICE_SECRET_KEY_FILE: join(folder, 'empty') }, /which is empty/],
    [{ SLUICE_SECRET_KEY_FILE: join(folder, 'long') }, /larger than 64 KiB/],
    [{ SLUICE_SECRT_KEY_FILE: path }, /SLUICE_SECRT_KEY_FILE: is not a setting/],
    [
      { SLUICE_PORT_FILE: path },
      /SLUICE_PORT_FILE: must be a whole number from 0 to 65535, not "\.\.\."/,
    ],
  ];
  for (const [environment, message] of refused)
    assert.throws(() => readConfig(environment), message);
});

test('no setting has the name of another one in a file', () => {
  const variables = Object.values(settings).map(({ variable }) => variable);
  const both = variables.filter((variable) => variables.includes(fileVariable(variable)));
  assert.deepEqual(both, []);
});

test('a fault of a secret setting does not show the secret', () => {
  assert.throws(
    () =>
      readConfig({
        SLUICE_GITHUB_CLIENT_SECRET: 'very secret',
        SLUICE_SECRET_KEY: 'too short',
        SLUICE_OWNER_PASSWORD: 'short',
      }),
    (error: Error) => !/very secret|too short|: short/.test(error.message),
  );
});

test('every setting that is a URL refuses what cannot be decoded, and never repeats it', () => {
  const read = new Set<string>();
  for (const { variable, read: readSetting } of Object.values(settings)) {
    const accepted = ['http', 'postgres', 'smtp'].filter((scheme) => {
      try {
        readSetting(`${scheme}://user:hidden%25word@127.0.0.1:1/`);
        return scheme !== 'http' || typeof readSetting('http://127.0.0.1:1') === 'string';
      } catch {
        return false;
      }
    });
    const isText = accepted.length > 1;
    if (accepted.length === 0 || isText) continue;
    read.add(variable);
    for (const password of ['hidden%off', 'hidden%', 'hidden%E4'])
      assert.throws(
        () => readConfig({ [variable]: `${accepted[0]}://user:${password}@127.0.0.1:1` }),
        (error: unknown) => {
          assert.ok(error instanceof ConfigError, String(error));
          assert.match(error.message, /encoded/);
          assert.doesNotMatch(error.message, /hidden/);
          return true;
        },
        variable,
      );
  }
  for (const known of ['SLUICE_DATABASE_URL', 'SLUICE_CLICKHOUSE_URL', 'SLUICE_SMTP_URL'])
    assert.ok(read.has(known), known);
  const slash = { SLUICE_CLICKHOUSE_URL: 'http://user:hid/den@127.0.0.1:8123' };
  assert.throws(() => readConfig(slash), /SLUICE_CLICKHOUSE_URL: .* \/ as %2F/);
});
