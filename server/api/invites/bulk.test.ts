import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { writeInviteMails } from './mailing.ts';
import { getSender, insertInvites } from './store.ts';
import {
  address,
  base,
  harness,
  openAroundTests,
} from '../../../test/factories/people/invites_around_tests.ts';
import { faultsOf } from '../../../test/watchers/faults_of.ts';

openAroundTests();

const bulk = (organization_id: string, key: string, body: unknown, headers = {}) =>
  harness.request('POST', `${base(organization_id)}bulk/`, { key, body, headers });
const list = async (organization_id: string, key: string) =>
  (await harness.request('GET', `${base(organization_id)}?limit=1000`, { key })).body;

test('a list, a wrapped list and one object are accepted alike', async () => {
  const { organization, key } = await harness.newOrganization();
  type Item = { target_email: string; level?: number };
  const items = (): Item[] => [
    { target_email: address() },
    { target_email: address(), level: 8 },
    { target_email: address() },
  ];
  const wrappings: [Item[], (sent: Item[]) => unknown][] = [
    [items(), (sent) => sent],
    [items(), (invites) => ({ invites })],
    [items().slice(1, 2), (sent) => sent[0]],
  ];
  for (const [sent, wrap] of wrappings) {
    const answer = await bulk(organization.id, key, wrap(sent));
    assert.equal(answer.status, 200);
    const { count, next, previous, results, ...first } = answer.body;
    assert.deepEqual([count, next, previous], [sent.length, null, null]);
    assert.deepEqual(first, results[0]);
    assert.deepEqual(
      results.map((invite: any) => [invite.target_email, invite.level]),
      sent.map(({ target_email, level = 1 }) => [target_email, level]),
    );
    for (const invite of results)
      assert.match(invite.link, new RegExp(`/invite/${invite.id}\\?token=[\\w-]{43}$`));
  }
  const { results } = await list(organization.id, key);
  assert.equal(results.length, 7);
  assert.ok(results.every((invite: any) => !('link' in invite)));
});

test('one bad item leaves everything unchanged, and each is named with its place', async () => {
  const { organization, key, user } = await harness.newOrganization({ level: 8 });
  const good = { target_email: address() };
  const cases: [unknown, string[]][] = [
    [[good, { target_email: 'x' }], ['1__target_email invalid_input']],
    [{ invites: [good, {}] }, ['1__target_email required']],
    [{ first_name: 1 }, ['0__target_email required', '0__first_name invalid_input']],
    [
      [good, 'x', null, []],
      ['1 invalid_input', '2 null', '3 invalid_input'],
    ],
    [
      [
        { target_email: user.email.toUpperCase(), level: 2 },
        good,
        { target_email: good.target_email.toUpperCase(), message: 1 },
        { target_email: 'x', level: 15 },
      ],
      [
        '0__level invalid_choice',
        '0__target_email invalid_input',
        '2__message invalid_input',
        '2__target_email unique',
        '3__target_email invalid_input',
      ],
    ],
    // Small sigmas differ at the end of a word, but not as the index compares addresses.
    [
      [{ target_email: 'ADA@example.com' }, { target_email: 'ada@example.com' }],
      ['1__target_email unique'],
    ],
    // Beside what cannot be stored the other faults are told.
    [
      '{"invites":[{"target_email":"x","first_name":"\\u0000"}]}',
      ['0__first_name null_characters_not_allowed', '0__target_email invalid_input'],
    ],
    [
      '{"invites":[{"target_email":"a@b.co"}],"other":"\\u0000"}',
      ['other null_characters_not_allowed'],
    ],
    [[], [' min_items']],
    [{ invites: [] }, ['invites min_items']],
    [{ invites: 'x' }, ['invites not_a_list']],
    [{ invites: null }, ['invites null']],
    ['"x"', [' not_a_list']],
    ['null', [' null']],
    [Array.from({ length: 1001 }, () => good), [' max_items']],
  ];
  for (const [body, wanted] of cases) {
    const answer = await bulk(organization.id, key, body);
    assert.equal(answer.status, 400, JSON.stringify(body).slice(0, 200));
    assert.deepEqual(faultsOf(answer), wanted);
  }
  assert.equal((await list(organization.id, key)).count, 0);
  const sent = await harness.deps.db.row<{ count: number }>(
    sql`SELECT count(*) AS count FROM activity WHERE organization_id = ${organization.id}`,
  );
  assert.equal(sent!.count, 0);
});

test('levels above the own are refused together, once the rest is right', async () => {
  const { organization, key } = await harness.newOrganization();
  const { key: low } = await harness.newMember(organization.id, 1);
  const high = { target_email: address(), level: 15 };
  await bulk(organization.id, key, high);
  const answer = await bulk(organization.id, low, [
    { target_email: address() },
    { target_email: address(), level: 8 },
    { target_email: high.target_email },
  ]);
  assert.equal(answer.status, 403);
  assert.deepEqual(faultsOf(answer), [
    '1__level permission_denied',
    '2__target_email permission_denied',
  ]);
  assert.equal(
    (await bulk(organization.id, low, [{ target_email: address(), level: 8 }, {}])).status,
    400,
  );
  assert.equal((await list(organization.id, key)).count, 1);
});

test('a thousand invites are created at once, and replaced at once', async () => {
  const { organization, key } = await harness.newOrganization();
  const items = Array.from({ length: 1000 }, (_, index) => ({
    target_email: `person.${index}@example.com`,
  }));
  const first = await bulk(organization.id, key, items);
  assert.deepEqual([first.status, first.body.count, first.body.results.length], [200, 1000, 1000]);
  const second = await bulk(organization.id, key, {
    invites: items.map(({ target_email }) => ({
      target_email: target_email.toUpperCase(),
      level: 8,
    })),
  });
  assert.equal(second.status, 200);
  const { count, results } = await list(organization.id, key);
  assert.equal(count, 1000);
  assert.deepEqual(
    new Set(results.map((invite: any) => invite.id)),
    new Set(second.body.results.map((invite: any) => invite.id)),
  );
  const entries = await harness.deps.db.rows<{ activity: string }>(
    sql`SELECT activity FROM activity WHERE organization_id = ${organization.id}`,
  );
  assert.deepEqual(
    entries.map(({ activity }) => activity),
    ['bulk_created', 'bulk_created'],
  );
});

test('the log names everybody of a bulk with level, name and replaced invite', async () => {
  const { organization, key } = await harness.newOrganization();
  const old = (await bulk(organization.id, key, { target_email: address() })).body;
  const known = { target_email: old.target_email.toUpperCase(), level: 15, first_name: 'Grace' };
  const sent = [
    ...Array.from({ length: 200 }, () => ({ target_email: address(), level: 1, first_name: '' })),
    known,
  ];
  const created = await bulk(organization.id, key, sent);
  assert.equal(created.status, 200);
  const log = await harness.request(
    'GET',
    `/api/organizations/${organization.id}/activity/?scope=invite`,
    { key },
  );
  assert.deepEqual(
    log.body.results
      .slice(0, 1)
      .map(({ activity, changes }: any) => [
        activity,
        changes.map(({ field, after }: any) => [field, after]),
      ]),
    [
      [
        'bulk_created',
        [
          ...created.body.results.flatMap(({ target_email, level, first_name }: any) => [
            [`invites.${target_email}.level`, level],
            [`invites.${target_email}.first_name`, first_name],
          ]),
          [`invites.${created.body.results[200].target_email}.replaced_invite`, old.id],
        ],
      ],
    ],
  );
});

test('the same key and body give the same invites, with their links', async () => {
  const { organization, key } = await harness.newOrganization();
  const headers = { 'idempotency-key': randomUUID() };
  const body = [{ target_email: address() }, { target_email: address() }];
  const [first, second] = [
    await bulk(organization.id, key, body, headers),
    await bulk(organization.id, key, body, headers),
  ];
  assert.equal(second.headers['idempotent-replayed'], 'true');
  assert.deepEqual(second.body, first.body);
  assert.equal((await list(organization.id, key)).count, 2);
});

test('concurrent bulks of the same addresses leave one invite for each', async () => {
  const { organization, key } = await harness.newOrganization();
  const items = Array.from({ length: 30 }, (_, index) => ({
    target_email: `racer.${index}@example.com`,
  }));
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      bulk(organization.id, key, index % 2 === 0 ? items : items.toReversed()),
    ),
  );
  assert.ok(answers.every(({ status }) => status === 200));
  assert.equal((await list(organization.id, key)).count, 30);
});

test('mails of a bulk with long messages are composed in turns', async () => {
  const { organization, user } = await harness.newOrganization();
  const message = '<a line of text>\n'.repeat(100);
  const fields = Array.from({ length: 400 }, () => ({
    target_email: address(),
    first_name: '',
    level: 1 as const,
    message,
  }));
  const { db, clock } = harness.deps;
  await db.transaction(async (tx) => {
    const invites = await insertInvites(tx, organization.id, user.id, fields, clock.now());
    const sender = await getSender(tx, organization.id, user.id);
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    await writeInviteMails(tx, harness.deps, sender, invites);
    clearInterval(counting);
    assert.ok(turns > 0, `others had ${turns} turns of the event loop`);
  });
});
