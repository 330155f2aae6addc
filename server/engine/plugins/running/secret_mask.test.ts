import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSecretMask } from './secret_mask.ts';

const masked = (values: unknown[], text: string) => {
  const { hide, mask } = openSecretMask();
  hide(values);
  return mask(text);
};

test('a secret is taken out in every form in which it is repeated', () => {
  const secret = 'k€y "with" signs/+';
  for (const form of [
    secret,
    JSON.stringify({ secret }),
    `https://api.example.com/?token=${encodeURIComponent(secret)}`,
    `Basic ${Buffer.from(secret).toString('base64')}`,
  ]) {
    const text = masked([secret], `It said ${form}.`);
    assert.ok(text.includes('********'), text);
    assert.ok(!text.includes('with'), text);
  }
});

test('a secret is taken out of the base 64 of a longer text', () => {
  const secret = 'p\u00e4ss>word?of-one';
  for (const encoding of ['base64', 'base64url'] as const)
    for (const around of ['', 'a', 'me', 'key', 'user']) {
      const text = masked([secret], Buffer.from(`${around}${secret}${around}`).toString(encoding));
      assert.match(text, /^[\w+/-]{0,8}\*{8}[\w+/-]{0,8}=*$/);
    }
});

test('files, JSON, keys of several lines and numbers are known by their parts', () => {
  const line = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC';
  const pem = `-----BEGIN PRIVATE KEY-----\n${line}\n-----END PRIVATE KEY-----\n`;
  const contents = Buffer.from(JSON.stringify({ private_key: pem })).toString('base64');
  const file = { file_name: 'a', content_type: 'b', contents };
  assert.equal(masked([file], `read ${line}`), 'read ********');
  assert.equal(masked([pem], `read ${line}`), 'read ********');
  assert.equal(masked(['{"token":"inner-token"}'], 'sent inner-token'), 'sent ********');
  assert.equal(masked([1234567], 'pin 1234567'), 'pin ********');
  assert.equal(
    masked(['long', 'longer'], 'a longer one, a long one'),
    'a ******** one, a ******** one',
  );
});

test('what is in every sentence by chance stays, and so does a text without secrets', () => {
  assert.equal(masked(['no', '', null, undefined, true], 'no, this is true'), 'no, this is true');
  assert.equal(masked([], 'x'.repeat(5000)), 'x'.repeat(5000));
});

test('a secret that the end of a long line cuts is taken out as well', () => {
  const secret = 'a-token-of-forty-characters-for-all-time';
  for (const kept of [6, 20, secret.length]) {
    const text = 'x'.repeat(4_096 - kept) + secret.slice(0, kept);
    assert.equal(masked([secret], text), `${'x'.repeat(4_096 - kept)}********`);
  }
});
