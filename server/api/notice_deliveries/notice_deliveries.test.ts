import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openWebhook } from '../../../test/factories/notices.ts';
import { endedRun, failed } from '../../../test/factories/batch_exports/ended_runs.ts';
import { openHarness } from '../../../test/harness.ts';
import { openHttpReceiver } from '../../../test/servers/http_receiver.ts';
import { sendDueNotices } from '../../engine/notices/send.ts';

let now = Date.parse('2026-01-01T00:00:00Z');
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, deps: { clock: { now: () => now } } }),
);
const receiver = aroundTests(() => openHttpReceiver({}));

const deliver = () => sendDueNotices({ ...harness.deps, public_url: 'http://127.0.0.1:8000' });

test('each attempt with its status and what was sent; a notice is sent again', async () => {
  const { home, exported, target, received, change } = await openWebhook(harness, receiver);
  const base = `/api/projects/${home.project.id}/notice_deliveries/`;
  const get = async (path = '') => (await home.ask('GET', `${base}${path}`)).body;
  const send = (id: number, body: unknown = {}) => home.ask('POST', `${base}${id}/send/`, body);
  receiver.plan({ status: 500 });
  await endedRun(harness, exported.id, failed);
  await deliver();
  const [listed] = (await get(`?target=${target.id}&outcome=pending`)).results;
  assert.deepEqual(
    [listed.event, listed.batch_export, listed.attempts],
    ['failing', exported.id, 1],
  );
  now = Date.parse(listed.next_attempt_at) + 1;
  await deliver();
  const record = await get(`${listed.id}/`);
  assert.deepEqual(
    record.tries.map(({ outcome, status }: { outcome: string; status: number }) => [
      outcome,
      status,
    ]),
    [
      ['failed', 500],
      ['delivered', 200],
    ],
  );
  assert.equal(record.body, received()[0]!.body);
  assert.equal((await send(listed.id, [])).status, 400);
  const again = await send(listed.id);
  assert.deepEqual([again.status, again.body.outcome], [200, 'pending']);
  await deliver();
  assert.equal(received().length, 3);
  assert.equal((await get(`${listed.id}/`)).tries.length, 3);
  await change({ enabled: false });
  assert.equal((await send(listed.id)).status, 409);
  const stranger = await harness.newOrganization();
  const foreign = await stranger.ask(
    'GET',
    `/api/projects/${stranger.project.id}/notice_deliveries/${listed.id}/`,
  );
  assert.equal(foreign.status, 404);
});
