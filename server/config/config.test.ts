import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApiKey } from '../platform/http/caller/api_key.ts';
import { ConfigError, readConfig } from './config.ts';

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
];

test('every wrong setting is named, and a part of a group names the rest', () => {
  for (const [environment, expected] of cases)
    assert.deepEqual(problemsOf(environment), expected, JSON.stringify(environment));
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

test('what is wrong with a secret is said without it', () => {
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
