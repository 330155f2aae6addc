import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { attrsOf } from '../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../test/harness.ts';
import { openHttpReceiver } from '../../../test/servers/http_receiver.ts';
import { openWebhook, webhook_secret } from '../../../test/factories/notices.ts';

const harness = aroundTests(() => openHarness({ clickhouse: false }));
const receiver = aroundTests(() => openHttpReceiver({}));
const listener = aroundTests(() => openHttpReceiver({}));

test('another address asks for the secret again; its listener hears nothing before', async () => {
  const { home, target, change, state, url } = await openWebhook(harness, receiver);
  const one = `/api/projects/${home.project.id}/notice_targets/${target.id}/`;
  const body = { url: `${listener.url}/hook/` };
  for (const [method, path] of [
    ['PATCH', one],
    ['PUT', one],
    ['PATCH', `${one}?validate_only=true`],
  ] as const) {
    const refused = await home.ask(method, path, body);
    assert.deepEqual([refused.status, attrsOf(refused)], [400, ['secret required']], refused.text);
    assert.match(refused.body.detail, /belongs to another url/);
  }
  await home.ask('POST', `${one}test/`);
  assert.deepEqual([listener.requests.length, receiver.requests.length], [0, 1]);
  // The stored address, in either spelling, and a change without one do not need the secret.
  for (const kept of [{ url }, { url: target.url }, { events: ['failing'] }, { enabled: true }])
    assert.equal((await change(kept)).status, 200, JSON.stringify(kept));
  const moved = await change({ ...body, secret: webhook_secret });
  assert.equal(moved.status, 200, moved.text);
  await home.ask('POST', `${one}test/`);
  assert.equal(listener.requests.length, 1);
  assert.equal((await state()).url, `${listener.url}/********`);
});

test('a target of mails has no secret to ask for', async () => {
  const { home, create } = await openWebhook(harness, receiver);
  const { id } = await create({ type: 'email', address: 'one@example.com' });
  const moved = await home.ask('PATCH', `/api/projects/${home.project.id}/notice_targets/${id}/`, {
    address: 'two@example.com',
  });
  assert.deepEqual([moved.status, moved.body.address], [200, 'two@example.com']);
});
