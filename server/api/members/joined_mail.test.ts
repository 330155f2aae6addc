import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { openMailServer } from '../../../test/servers/mail_server.ts';
import type { MailServer } from '../../../test/servers/mail_server.ts';
import { systemClock } from '../../platform/clock.ts';
import { silentLog } from '../../platform/log.ts';
import { openMail } from '../../platform/mail/mail.ts';

let relay: MailServer;
let harness: Harness;
before(async () => {
  relay = await openMailServer();
  const bounds = { connect_milliseconds: 30_000, send_milliseconds: 30_000 };
  harness = await openHarness({
    clickhouse: false,
    deps: {
      mail: openMail({
        url: relay.url,
        from: 'sluice@example.com',
        log: silentLog(),
        clock: systemClock,
        bounds,
      }),
    },
  });
});
after(async () => {
  // The one that hangs would be waited for.
  await relay.close();
  await harness.close();
});
beforeEach(() => relay.setFault(undefined));

/** Invites somebody and accepts for them; gives their address. */
async function join({ organization, key }: TestOrganization): Promise<string> {
  const target_email = `${randomUUID()}@example.org`;
  const created = await harness.request('POST', `/api/organizations/${organization.id}/invites/`, {
    key,
    body: { target_email, first_name: 'Grace', level: 8 },
  });
  const token = new URL(created.body.link).searchParams.get('token');
  const joined = await harness.request('POST', `/api/invites/${created.body.id}/accept/`, {
    body: { token, password: 'violet kettle harbour 92', last_name: 'Hopper' },
  });
  assert.equal(joined.status, 201);
  return target_email;
}
const recipients = (subject: string) =>
  relay.mails.filter(({ content }) => content.subject === subject).flatMap(({ to }) => to);

test('every other active member learns who joined, once', async () => {
  const home = await harness.newOrganization({ name: 'Told' });
  const others = await Promise.all(
    Array.from({ length: 6 }, () => harness.newMember(home.organization.id, 1)),
  );
  const inactive = await harness.newMember(home.organization.id, 1);
  await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${inactive.user.id}`);
  const email = await join(home);
  const wanted = [home, ...others].map(({ user }) => user.email).sort();
  await eventually('not all are told', () => recipients('Grace Hopper joined Told').length >= 7);
  assert.deepEqual(recipients('Grace Hopper joined Told').toSorted(), wanted);
  const { content } = await relay.waitFor(home.user.email);
  assert.deepEqual(content.replyTo, [{ name: 'Grace Hopper', address: email }]);
  assert.ok(
    content.text!.includes(
      `Grace Hopper (${email}) is now a member of Told on Sluice. Their level is ` +
        'administrator.',
    ),
  );
});

test('names write no paragraphs of their own', async () => {
  const home = await harness.newOrganization({ name: 'Engines\n\nYour account is locked' });
  const email = await join(home);
  const subject = 'Grace Hopper joined Engines Your account is locked';
  await eventually('nobody is told', () => recipients(subject).length > 0);
  assert.deepEqual(recipients(subject), [home.user.email]);
  const [heading, sentence] = relay.mails
    .find(({ content }) => content.subject === subject)!
    .content.text!.split('\n\n');
  assert.deepEqual(
    [heading, sentence],
    [
      subject,
      `Grace Hopper (${email}) is now a member of Engines Your account is locked on Sluice. ` +
        'Their level is administrator.',
    ],
  );
});

test('an organization can switch mails about new members off', async () => {
  const home = await harness.newOrganization({ name: 'Silent' });
  const path = `/api/organizations/${home.organization.id}/`;
  assert.equal(
    (await home.ask('PATCH', path, { is_member_join_email_enabled: false })).status,
    200,
  );
  await join(home);
  // An earlier mail would arrive before this one, which is sent later.
  const loud = await harness.newOrganization({ name: 'Loud' });
  await join(loud);
  await relay.waitFor(loud.user.email);
  assert.deepEqual(
    [recipients('Grace Hopper joined Silent'), recipients('Grace Hopper joined Loud')],
    [[], [loud.user.email]],
  );
});

test('joining never waits for its mails, nor fails with them', async () => {
  const home = await harness.newOrganization({ name: 'Hanging' });
  relay.setFault('hang_after');
  const target_email = `${randomUUID()}@example.org`;
  const created = await home.ask(
    'POST',
    `/api/organizations/${home.organization.id}/invites/bulk/`,
    { target_email },
  );
  const begun = performance.now();
  const token = new URL(created.body.link).searchParams.get('token');
  const joined = await harness.request('POST', `/api/invites/${created.body.id}/accept/`, {
    body: { token, password: 'violet kettle harbour 92' },
  });
  assert.equal(joined.status, 201);
  assert.ok(performance.now() - begun < 29_000, 'the answer comes before the relay is given up');
});
