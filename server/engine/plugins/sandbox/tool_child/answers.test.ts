import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAnswer } from './answers.ts';
import type { KnownAnswers, ReadAnswers } from './answers.ts';
import { known_answers } from './known_answers.ts';
import { retryAfterOf } from './way_out.ts';

function readOf(known: KnownAnswers, status: number, answer: unknown): ReadAnswers {
  const read: ReadAnswers = { whole: undefined, single: undefined, members: [] };
  readAnswer(known, status, typeof answer === 'string' ? answer : JSON.stringify(answer), read);
  return read;
}

test('A wrong key with 200 or 400 is one, and other refusals are none', () => {
  const tiktok = readOf(known_answers['tiktok-conversions']!, 200, {
    code: 40_105,
    message: 'No.',
  });
  assert.deepEqual(tiktok.whole, {
    kind: 'denied',
    status: 401,
    reason: 'It answered 200: No.',
    rest_seconds: undefined,
  });
  const amplitude = known_answers['amplitude']!;
  const wrong = readOf(amplitude, 400, { code: 400, error: 'Invalid API key: x' });
  assert.equal(wrong.whole?.kind, 'denied');
  const missing = readOf(amplitude, 400, { code: 400, error: 'Request missing required field' });
  assert.equal(missing.whole, undefined);
});

test('A limit with 400 or 403 is a matter of pace', () => {
  const error = { code: 4, message: 'Application request limit reached' };
  const meta = readOf(known_answers['facebook-conversions-api']!, 400, { error });
  assert.deepEqual(
    [meta.whole?.kind, meta.whole?.status, meta.whole?.rest_seconds],
    ['retry', 429, 60],
  );
  const answer = [{ errorCode: 'REQUEST_LIMIT_EXCEEDED', message: 'Exceeded.' }];
  const salesforce = readOf(known_answers['salesforce']!, 403, answer);
  assert.equal(salesforce.whole?.status, 429);
});

test('A good answer says nothing, whatever form it has', () => {
  for (const known of Object.values(known_answers))
    for (const answer of ['', 'ok', '1', {}, [], { code: 0, message: 'OK' }, '<html></html>']) {
      const read = readOf(known!, 200, answer);
      assert.deepEqual([read.whole, read.single, read.members], [undefined, undefined, []]);
    }
});

test('Refused events of a batch are named by place, by status, or by a field', () => {
  const errors = [{ batch_index: 2, reason: 'invalid', message: 'Too long.' }];
  assert.deepEqual(readOf(known_answers['customerio']!, 207, { errors }).members, [
    { at: 2, status: 400, reason: 'invalid: Too long.' },
  ]);
  const elements = [{ status: 201 }, { status: 400, error: { message: 'No.' } }];
  assert.deepEqual(readOf(known_answers['linkedin-conversions']!, 200, { elements }).members, [
    { at: 1, status: 400, reason: 'No.' },
  ]);
  const { members } = readOf(known_answers['iterable']!, 200, { invalidEmails: ['x@y'] });
  assert.deepEqual(
    members.map((one) => ('field' in one ? [one.field, one.value] : one)),
    [['email', 'x@y']],
  );
});

test('The end of a window counts where no Retry-After is told', () => {
  const in_10_s = Math.floor(Date.now() / 1_000) + 10;
  assert.equal(
    retryAfterOf(429, [
      ['Retry-After', '7'],
      ['x-ratelimit-reset', '9'],
    ]),
    '7',
  );
  assert.equal(retryAfterOf(429, [['RateLimit-Reset', '8.2']]), '9');
  assert.equal(
    retryAfterOf(429, [['X-RateLimit-Reset', String(in_10_s)]]),
    new Date(in_10_s * 1_000).toUTCString(),
  );
  assert.equal(retryAfterOf(200, [['X-RateLimit-Reset', String(in_10_s)]]), undefined);
  assert.equal(retryAfterOf(503, []), undefined);
});
