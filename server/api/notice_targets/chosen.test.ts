import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import { completed, endedRun, failed } from '../../../test/factories/batch_exports/ended_runs.ts';
import { deliveriesOf, webhook_secret } from '../../../test/factories/notices.ts';
import { silentLog } from '../../platform/log.ts';
import { openMail } from '../../platform/mail/mail.ts';
import {
  harness,
  openAroundTests,
  receiver,
  relay,
  send,
  withWebhook,
} from '../../../test/factories/notices_around_tests.ts';

let now = Date.parse('2026-01-01T00:00:00Z');
openAroundTests(() => now);
const secret = webhook_secret;

/** Sends what is due, mails through the given relay. */
test('targets choose events and exports, and a switched off one gets nothing', async () => {
  const { exported, create, target, received, change } = await withWebhook();
  const other = { type: 'webhook', url: `${receiver.url}/other`, secret };
  await create({ ...other, events: ['recovered'] });
  await create({ ...other, enabled: false });
  const { id } = await newExportBeside(target.team_id);
  await create({ ...other, batch_export_ids: [id] });
  await endedRun(harness, exported.id, failed);
  assert.equal((await deliveriesOf(harness, exported.id)).length, 1);
  await change({ enabled: false });
  await send();
  assert.deepEqual(
    [received().length, receiver.requests.filter(({ path }) => path === '/other').length],
    [0, 0],
  );
  assert.deepEqual(await deliveriesOf(harness, exported.id), [
    { outcome: 'given_up', attempts: 1, next_attempt_at: null },
  ]);
});

/** Another export of a project, without a caller. */
async function newExportBeside(team_id: number): Promise<{ id: string }> {
  const row = await harness.deps.db.row<{ id: string }>(sql`
    INSERT INTO batch_exports (id, team_id, name, model, destination_type, "interval", timezone,
      planned_until)
    VALUES (gen_random_uuid(), ${team_id}, 'Beside', 'events', 'NoOp', 'hour', 'UTC', now())
      RETURNING id`);
  return row!;
}

test('mails go to the targets, and without any target to the administrators', async () => {
  const { home, exported, create } = await withWebhook({ enabled: false });
  await create({ type: 'email', address: 'ops@example.com' });
  const zoned = { timezone: 'Europe/Berlin' };
  await home.ask('PATCH', `/api/projects/${home.project.id}/`, zoned);
  relay.setFault('reject_recipient');
  const message = 'Gone since 2026-01-31T12:00:00.000Z, or 2026-13-31T12:00Z.';
  await endedRun(harness, exported.id, { ...failed, message });
  now += 10_000;
  await send();
  relay.setFault(undefined);
  now += 6_000;
  assert.equal(await send(), 1);
  const mail = await relay.waitFor('ops@example.com');
  assert.equal(mail.content.subject, 'The export Lake is failing');
  const { public_url } = harness.deps.config;
  const page = `${public_url}/projects/${home.project.id}/exports/${exported.id}`;
  assert.ok(
    mail.content.text?.includes(
      'Gone since 2026-01-31 13:00+01:00 Europe/Berlin, or 2026-13-31T12:00Z.',
    ) &&
      mail.content.text.includes(`${page}\n`) &&
      String(mail.content.html).includes(`href="${page}"`),
  );
  // Times are those of the project's zone.
  const { text = '' } = mail.content;
  assert.match(text, /Time: 2026-01-01 01:00\+01:00 Europe\/Berlin\n/);
  assert.match(text, /Interval: \S+ \S+\+01:00 Europe\/Berlin to /);
  assert.ok(text.includes(`Run: ${page}/runs/`));

  const bare = await harness.newOrganization();
  const administrator = await harness.newMember(bare.organization.id, 8);
  const member = await harness.newMember(bare.organization.id, 1);
  const { id } = await newExport(bare, { name: 'Two' });
  // As names were taken before they had to be one line.
  await harness.deps.db.run(
    sql`UPDATE batch_exports SET name = ${'Two\r\nlines'} WHERE id = ${id}::uuid`,
  );
  await endedRun(harness, id, failed);
  now += 10_000;
  assert.equal(await send(), 2);
  for (const { user } of [bare, administrator])
    assert.equal(
      (await relay.waitFor(user.email)).content.subject,
      'The export Two lines is failing',
    );
  assert.ok(!relay.mails.some(({ to }) => to.includes(member.user.email)));

  const unset = openMail({
    url: undefined,
    from: 'Sluice <sluice@example.com>',
    log: silentLog(),
    clock: harness.deps.clock,
  });
  await endedRun(harness, exported.id, completed);
  now += 10_000;
  assert.equal(await send({}, unset), 1);
  assert.deepEqual((await deliveriesOf(harness, exported.id)).at(-1), {
    outcome: 'given_up',
    attempts: 1,
    next_attempt_at: null,
  });
});

test('exports that fail together are one mail, in order, also when it is sent again', async () => {
  const { home, create } = await withWebhook({ enabled: false });
  await create({ type: 'email', address: 'storm@example.com' });
  await home.ask('PATCH', `/api/projects/${home.project.id}/`, { name: 'Web shop' });
  const names = ['One', 'Two', 'Three', 'Four <b>'];
  const exports = await Promise.all(names.map((name) => newExport(home, { name })));
  for (const { id } of exports.slice(0, 3)) await endedRun(harness, id, failed);
  await endedRun(harness, exports[0]!.id, completed);
  assert.equal(await send(), 0);
  now += 10_000;
  relay.setFault('reject_message');
  assert.equal(await send(), 1);
  relay.setFault(undefined);
  await endedRun(harness, exports[3]!.id, failed);
  assert.equal(await send(), 0);
  now += 6_000;
  assert.equal(await send(), 1);
  const mails = relay.mails.filter(({ to }) => to.includes('storm@example.com'));
  assert.equal(mails.length, 1);
  const { subject, text, html, messageId } = mails[0]!.content;
  assert.equal(subject, '5 notices of exports of Web shop: 4 failing, 1 recovered');
  const told = text!.split('\n').filter((line) => line.startsWith('The export '));
  assert.deepEqual(
    told.map((line) => line.replace(/ \(.*\)$/, '')),
    [
      'The export One is failing',
      'The export Two is failing',
      'The export Three is failing',
      'The export One has recovered',
      'The export Four <b> is failing',
    ],
  );
  assert.ok(text!.includes(`/projects/${home.project.id}/exports/${exports[2]!.id}\n`));
  assert.ok(html!.includes('The export Four &lt;b&gt; is failing'));
  const first = await harness.deps.db.row<{ id: string }>(sql`
    SELECT notice_id || '.' || id AS id FROM notice_deliveries
      WHERE batch_export_id = ${exports[0]!.id} ORDER BY notice_deliveries.id LIMIT 1`);
  assert.equal(messageId, `<${first!.id}@example.com>`, 'the same in every attempt');
  for (const { id } of exports)
    for (const { outcome } of await deliveriesOf(harness, id)) assert.equal(outcome, 'delivered');
});
