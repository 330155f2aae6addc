import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { pathTo } from './path.ts';
import type { ErrorCode } from './problem.ts';

const confirm_path = pathTo('/api/sessions/@current/confirm/');
const project = pathTo('/api/projects/:id/', { id: 1 });

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

test('any request that finds nobody signed in reports it', async (context) => {
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
    const outcome = await ask(
      'POST',
      pathTo('/api/projects/:project_id/batch_exports/', { project_id: 1 }),
    );
    assert.equal(outcome.ok ? undefined : outcome.problem.message, 'As told.');
    assert.equal(tell.mock.callCount(), told, code);
  }
});

test('a person learns that somebody else changed the record meanwhile', async (context) => {
  const { ask } = await answering(context, 412, 'precondition_failed');
  const outcome = await ask('PATCH', project, { if_match: '"1"' });
  assert.ok(!outcome.ok);
  assert.match(outcome.problem.message, /^Somebody changed this since you opened it/);
  assert.deepEqual([outcome.problem.status, outcome.problem.code], [412, 'precondition_failed']);
});

test('a person learns that somebody else deleted the record meanwhile', async (context) => {
  const { ask } = await answering(context, 404, 'not_found', 'Not found.');
  const outcome = await ask(
    'DELETE',
    pathTo('/api/projects/:project_id/write_keys/:id/', { project_id: 1, id: 1 }),
  );
  assert.ok(!outcome.ok);
  assert.match(outcome.problem.message, /^This no longer exists, so nothing was done/);
  assert.deepEqual([outcome.problem.status, outcome.problem.code], [404, 'not_found']);
});

test('a foreign answer, or half an answer, is no success', async (context) => {
  for (const [type, body] of [
    ['text/html', '<title>Sign in to this network</title>'],
    ['application/json', '{"id": 1, "na'],
    ['application/json', ''],
  ] as const) {
    const { ask } = await answeringWith(context, 200, type, body);
    const outcome = await ask('PATCH', project, { body: { name: 'Typed' } });
    assert.ok(!outcome.ok, body);
    assert.match(
      outcome.problem.message,
      /^The answer did not come from the server, or it is incomplete/,
    );
    // As one that was never heard: tried again, and under the same key.
    assert.equal(outcome.problem.status, 0);
  }
  const { ask } = await answeringWith(context, 204, 'text/plain', null);
  assert.ok((await ask('DELETE', project)).ok);
});

test('a refusal that is not of the API is said to be of another', async (context) => {
  const { ask } = await answeringWith(context, 413, 'text/html', '<h1>Too large</h1>');
  const outcome = await ask('POST', pathTo('/api/projects/'));
  assert.ok(!outcome.ok);
  assert.match(outcome.problem.message, /such as a proxy, refused this with the status 413/);
});

const unconfirmed = { status: 403, code: 'own_factor_required' } as const;
const signed_out = { status: 401, code: 'authentication_failed' } as const;

/** `ask` in a page whose server answers in turn: with a refusal, or with an empty record. */
async function answeringInTurn(context: TestContext, answers: object[]) {
  const asked: string[] = [];
  const held: (() => void)[] = [];
  const modules = await answering(context, 500, 'error');
  const confirming = await import('./confirming.ts');
  context.mock.method(globalThis, 'fetch', async (path: string) => {
    const answer = answers[asked.length] as { status?: number; code?: ErrorCode };
    asked.push(new URL(path, 'https://sluice.example/').pathname);
    if (path.endsWith(confirm_path)) await new Promise<void>((resolve) => held.push(resolve));
    const { status = 200, code = 'error' } = answer;
    const body = status === 200 ? {} : { errors: [{ attr: null, code, detail: 'As told.' }] };
    return new Response(JSON.stringify(body), {
      status,
      headers: { 'content-type': 'application/json' },
    });
  });
  return { ...modules, ...confirming, asked, held };
}

test('a change that waits for a confirmation is asked for once more after it', async (context) => {
  for (const [method, confirmed, answers, outcome] of [
    ['PATCH', true, [unconfirmed, {}], true],
    ['POST', true, [{ status: 403, code: 'second_factor_required' }, {}], true],
    ['DELETE', true, [unconfirmed, unconfirmed], false],
    ['PATCH', false, [unconfirmed], false],
    ['GET', undefined, [unconfirmed], false],
    ['POST', undefined, [{ status: 403, code: 'permission_denied' }], false],
    ['POST', undefined, [{ status: 401, code: 'second_factor_required' }], false],
  ] as const) {
    const { ask, whenUnconfirmed, asked } = await answeringInTurn(context, [...answers]);
    const confirm = context.mock.fn(() => Promise.resolve(confirmed === true));
    whenUnconfirmed(confirm);
    const given = await ask(method, project);
    assert.equal(given.ok, outcome, method);
    assert.equal(asked.length, answers.length, method);
    assert.equal(confirm.mock.callCount(), confirmed === undefined ? 0 : 1, method);
  }
});

test('a request that crosses a fresh session token is sent again', async (context) => {
  const answers = [{}, signed_out, {}];
  const { ask, whenSignedOut, asked, held } = await answeringInTurn(context, answers);
  const tell = context.mock.fn();
  whenSignedOut(tell);
  const confirming = ask('POST', confirm_path);
  const reading = ask('GET', pathTo('/api/users/@me/'));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(asked.length, 2, 'the second try waits until the browser has the token');
  held[0]!();
  assert.deepEqual([(await confirming).ok, (await reading).ok], [true, true]);
  assert.equal(tell.mock.callCount(), 0);
});

test('a signed-out person learns it, also after a fresh token', async (context) => {
  const answers = [{}, signed_out, signed_out, signed_out];
  const { ask, whenSignedOut, asked, held } = await answeringInTurn(context, answers);
  const tell = context.mock.fn();
  whenSignedOut(tell);
  const confirming = ask('POST', confirm_path);
  const reading = ask('GET', pathTo('/api/users/@me/'));
  held[0]!();
  await Promise.all([confirming, reading]);
  assert.deepEqual([asked.length, tell.mock.callCount()], [3, 1]);
  await ask('GET', pathTo('/api/users/@me/'));
  assert.deepEqual([asked.length, tell.mock.callCount()], [4, 2], 'nothing is under way now');
});
