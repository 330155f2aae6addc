import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { ErrorCode } from '../../server/platform/http/errors.ts';

/** `ask` in a page, whose server answers each request with the error. */
async function answering(
  context: TestContext,
  status: number,
  code: ErrorCode,
  detail = 'As told.',
) {
  context.mock.method(globalThis, 'fetch', () =>
    Promise.resolve(Response.json({ errors: [{ attr: null, code, detail }] }, { status })),
  );
  const page = globalThis as { document?: unknown };
  page.document = { baseURI: 'https://sluice.example/' };
  try {
    return await import('./ask.ts');
  } finally {
    delete page.document;
  }
}

test('whoever asks, an answer that nobody is signed in is told', async (context) => {
  for (const [status, code, told] of [
    [401, 'not_authenticated', 1],
    [401, 'authentication_failed', 1],
    [401, 'second_factor_required', 0],
    [403, 'permission_denied', 0],
    [500, 'error', 0],
  ] as const) {
    const { ask, whenSignedOut } = await answering(context, status, code);
    const tell = context.mock.fn();
    whenSignedOut(tell);
    const outcome = await ask('POST', '/api/projects/1/batch_exports/');
    assert.equal(outcome.ok ? undefined : outcome.problem.message, 'As told.');
    assert.equal(tell.mock.callCount(), told, code);
  }
});

test('what somebody else has changed meanwhile is said to a person', async (context) => {
  const { ask } = await answering(context, 412, 'precondition_failed');
  const outcome = await ask('PATCH', '/api/projects/1/', { if_match: '"1"' });
  assert.ok(!outcome.ok);
  assert.match(outcome.problem.message, /^Somebody has changed this since you opened it/);
  assert.deepEqual([outcome.problem.status, outcome.problem.code], [412, 'precondition_failed']);
});

test('what somebody else has deleted meanwhile is said to a person', async (context) => {
  const { ask } = await answering(context, 404, 'not_found', 'Not found.');
  const outcome = await ask('DELETE', '/api/projects/1/write_keys/1/');
  assert.ok(!outcome.ok);
  assert.match(outcome.problem.message, /^This is not there any more, so nothing was done/);
  assert.deepEqual([outcome.problem.status, outcome.problem.code], [404, 'not_found']);
});
