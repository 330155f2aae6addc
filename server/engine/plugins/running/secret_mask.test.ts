import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countProcessorTime } from '../../../../test/processor_time.ts';
import { openSecretMask } from './secret_mask.ts';

const masked = async (values: unknown[], text: string) => {
  const { hide, mask } = openSecretMask();
  await hide(values);
  return mask(text);
};

test('a secret is taken out in every form in which it is repeated', async () => {
  const secret = 'k€y "with" signs/+';
  for (const form of [
    secret,
    JSON.stringify({ secret }),
    `https://api.example.com/?token=${encodeURIComponent(secret)}`,
    `Basic ${Buffer.from(secret).toString('base64')}`,
  ]) {
    const text = await masked([secret], `It said ${form}.`);
    assert.ok(text.includes('********'), text);
    assert.ok(!text.includes('with'), text);
  }
});

test('a secret is taken out of the base 64 of a longer text', async () => {
  const secret = 'p\u00e4ss>word?of-one';
  for (const encoding of ['base64', 'base64url'] as const)
    for (const around of ['', 'a', 'me', 'key', 'user']) {
      const text = await masked(
        [secret],
        Buffer.from(`${around}${secret}${around}`).toString(encoding),
      );
      assert.match(text, /^[\w+/-]{0,8}\*{8}[\w+/-]{0,8}=*$/);
    }
});

test('files, JSON, keys of several lines and numbers are known by their parts', async () => {
  const line = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC';
  const pem = `-----BEGIN PRIVATE KEY-----\n${line}\n-----END PRIVATE KEY-----\n`;
  const contents = Buffer.from(JSON.stringify({ private_key: pem })).toString('base64');
  const file = { file_name: 'a', content_type: 'b', contents };
  assert.equal(await masked([file], `read ${line}`), 'read ********');
  assert.equal(await masked([pem], `read ${line}`), 'read ********');
  assert.equal(await masked(['{"token":"inner-token"}'], 'sent inner-token'), 'sent ********');
  assert.equal(await masked([1234567], 'pin 1234567'), 'pin ********');
  assert.equal(
    await masked(['long', 'longer'], 'a longer one, a long one'),
    'a ******** one, a ******** one',
  );
});

test('a secret as common as a word stays, and so does a text without secrets', async () => {
  assert.equal(
    await masked(['no', '', null, undefined, true], 'no, this is true'),
    'no, this is true',
  );
  assert.equal(await masked([], 'x'.repeat(5000)), 'x'.repeat(5000));
});

test('a secret that the end of a long line cuts is taken out as well', async () => {
  const secret = 'a-token-of-forty-characters-for-all-time';
  for (const kept of [6, 20, secret.length]) {
    const text = 'x'.repeat(4_096 - kept) + secret.slice(0, kept);
    assert.equal(await masked([secret], text), `${'x'.repeat(4_096 - kept)}********`);
  }
});

test('any number of secrets leaves a line cheap', async () => {
  const { hide, mask } = openSecretMask();
  const lines = Array.from({ length: 600 }, (_unused, index) => `a${index}${'a'.repeat(400)}`);
  await hide([lines.join('\n')]);
  const worked_ms = countProcessorTime();
  for (let said = 0; said < 5; said += 1) assert.equal(mask(`${'a'.repeat(4_000)}b`), '********b');
  assert.equal(mask(`It said ${lines.at(-1)}.`), 'It said ********.');
  assert.ok(worked_ms() < 500);
});
