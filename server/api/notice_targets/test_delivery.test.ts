import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import type { TestOrganization } from '../../../test/harness.ts';
import { webhook_key, webhook_secret } from '../../../test/factories/notices.ts';
import { storedUrl } from '../../engine/notices/webhook_url.ts';
import {
  harness,
  openAroundTests,
  receiver,
  relay,
} from '../../../test/factories/notices_around_tests.ts';

let now = Date.parse('2026-01-01T00:00:00Z');
openAroundTests(() => now);

const projectList = (home: TestOrganization) => `/api/projects/${home.project.id}/notice_targets/`;
const secret = webhook_secret;

test('a test is delivered at once, signed, and says what went wrong; many are slowed', async () => {
  const home = await harness.newOrganization();
  const create = async (body: unknown) => (await home.ask('POST', projectList(home), body)).body;
  const tried = (target: { id: string }, query = '') =>
    home.ask('POST', `${projectList(home)}${target.id}/test/${query}`);
  const hook = await create({
    type: 'webhook',
    url: `${receiver.url}/test`,
    secret,
    enabled: false,
  });
  const broken = { key: home.key, body: '{' };
  assert.equal(
    (await harness.request('POST', `${projectList(home)}${hook.id}/test/`, broken)).status,
    400,
  );
  assert.deepEqual((await tried(hook, '?validate_only=true')).body, {
    is_delivered: null,
    detail: null,
  });
  assert.equal(receiver.requests.length, 0);
  receiver.plan(
    { status: 200, body: 'ok' },
    { status: 500, body: 'inside' },
    { status: 307, headers: { location: `${receiver.url}/elsewhere` } },
    'cut',
  );
  assert.deepEqual((await tried(hook)).body, { is_delivered: true, detail: null });
  const { headers, body } = receiver.requests[0]!;
  const signed = `${String(headers['webhook-id'])}.${now / 1000}.${body}`;
  const signature = createHmac('sha256', webhook_key).update(signed).digest('base64');
  assert.deepEqual(
    [headers['webhook-timestamp'], headers['webhook-signature'], headers['content-type']],
    [String(now / 1000), `v1,${signature}`, 'application/json'],
  );
  assert.deepEqual(
    [JSON.parse(body).type, JSON.parse(body).data.notice_target],
    ['notice_target.test', hook.id],
  );
  for (const words of [
    /^The receiver answered 500 /,
    /answered 307, a redirect, which is not followed/,
    /^The receiver ended the connection/,
  ]) {
    const answer = (await tried(hook)).body;
    assert.equal(answer.is_delivered, false);
    assert.match(answer.detail, words);
    assert.doesNotMatch(answer.detail, /inside/);
  }
  assert.ok(receiver.requests.every(({ path }) => path === '/test'));
  const refused = await create({ type: 'webhook', url: 'https://example.com/' });
  const { url_sealed } = storedUrl(harness.deps.secrets, refused.id, 'http://10.0.0.1/');
  await harness.deps.db.run(
    sql`UPDATE notice_targets SET url_sealed = ${url_sealed} WHERE id = ${refused.id}`,
  );
  assert.match((await tried(refused)).body.detail, /not globally reachable/);
  const mail = await create({ type: 'email', address: 'test@example.com' });
  assert.equal((await tried(mail)).body.is_delivered, true);
  assert.match((await relay.waitFor('test@example.com')).content.text ?? '', /This is a test/);
  for (let count = 0; count < 4; count += 1) assert.equal((await tried(mail)).status, 200);
  const slowed = await tried(mail);
  assert.deepEqual([slowed.status, slowed.headers['retry-after']], [429, '60']);
  now += 60_000;
  assert.equal((await tried(mail)).status, 200);
});
