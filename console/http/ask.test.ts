import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { ErrorCode } from './problem.ts';

/** `ask` in a page, whose server answers each request with the error. */
function answering(context: TestContext, status: number, code: ErrorCode, detail = 'As told.') {
  const body = JSON.stringify({ errors: [{ attr: null, code, detail }] });
  return answeringWith(context, status, 'application/json', body);
}

async function answeringWith(
  context: TestContext,
  status: number,
  type: string,
  body: string | null,
) {
  context.mock.method(globalThis, 'fetch', () =>
    Promise.resolve(new Response(body, { status, headers: { 'content-type': type } })),
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

test('what another answers, or half an answer, is no success', async (context) => {
  for (const [type, body] of [
    ['text/html', '<title>Sign in to this network</title>'],
    ['application/json', '{"id": 1, "na'],
    ['application/json', ''],
  ] as const) {
    const { ask } = await answeringWith(context, 200, type, body);
    const outcome = await ask('PATCH', '/api/projects/1/', { body: { name: 'Typed' } });
    assert.ok(!outcome.ok, body);
    assert.match(outcome.problem.message, /^The answer did not come from the server, or not whole/);
    // As one that was never heard: tried again, and under the same key.
    assert.equal(outcome.problem.status, 0);
  }
  const { ask } = await answeringWith(context, 204, 'text/plain', null);
  assert.ok((await ask('DELETE', '/api/projects/1/')).ok);
});

test('a refusal that is not of the API is said to be of another', async (context) => {
  const { ask } = await answeringWith(context, 413, 'text/html', '<h1>Too large</h1>');
  const outcome = await ask('POST', '/api/projects/');
  assert.ok(!outcome.ok);
  assert.match(outcome.problem.message, /such as a proxy, refused this with the status 413/);
});
