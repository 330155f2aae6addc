import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { completed, endedRun, failed } from '../../../test/factories/batch_exports/ended_runs.ts';
import {
  harness,
  openAroundTests,
  receiver,
  send,
  withWebhook,
} from '../../../test/factories/notices_around_tests.ts';
import { hidden_part } from '../../engine/notices/webhook_url.ts';

let now = Date.parse('2026-01-01T00:00:00Z');
openAroundTests(() => now);
const integration_key = 'a'.repeat(32);

/** An export whose name tries each markup, with a target of a service beside it. */
async function withService(type: string, fields: Record<string, unknown> = {}) {
  const { home, exported, create } = await withWebhook({ enabled: false });
  const name = 'Lake <!channel> [x](http://evil.example/) **b**';
  await harness.deps.db.run(sql`UPDATE batch_exports SET name = ${name} WHERE id = ${exported.id}`);
  const path = `/${type}/${exported.id}`;
  const target = await create({ type, url: `${receiver.url}${path}`, name: '#alerts', ...fields });
  const list = `/api/projects/${home.project.id}/`;
  const bodies = () =>
    receiver.requests.filter((one) => one.path === path).map(({ body }) => JSON.parse(body));
  return { home, exported, target, list, bodies, path };
}

test('Slack gets a text and blocks; texts of others are plain text', async () => {
  const { home, exported, target, list, bodies, path } = await withService('slack');
  const run = await endedRun(harness, exported.id, { ...failed, message: 'No <@U1> & more' });
  await send();
  const { public_url } = harness.deps.config;
  const page = `${public_url}/projects/${home.project.id}/exports/${exported.id}`;
  const heading = 'The export Lake <!channel> (link removed) **b** is failing';
  const sentence = 'A run of the export failed. No <@U1> & more';
  const plain = (text: string) => ({ type: 'plain_text', text, emoji: false });
  const [message] = bodies();
  const { fields } = message.blocks[2];
  assert.deepEqual(message, {
    text:
      'The export Lake &lt;!channel&gt; (link removed) **b** is failing: ' +
      'A run of the export failed. No &lt;@U1&gt; &amp; more',
    blocks: [
      { type: 'header', text: plain(heading) },
      { type: 'section', text: plain(sentence) },
      { type: 'section', fields },
      {
        type: 'section',
        text: {
          type: 'mrkdwn',
          text: `<${page}|See the export>   <${page}/runs/${run}|See the run>`,
        },
      },
    ],
  });
  assert.deepEqual(
    fields.map(({ type, text }: { type: string; text: string }) => [type, text.split(':')[0]]),
    [
      ['plain_text', 'Project'],
      ['plain_text', 'Time'],
      ['plain_text', 'Interval'],
    ],
  );
  const { headers } = receiver.requests.find((one) => one.path === path)!;
  assert.equal(headers['webhook-signature'], undefined);
  assert.equal(headers['content-type'], 'application/json');
  const deliveries = (await home.ask('GET', `${list}notice_deliveries/?target=${target.id}`)).body;
  const [delivery] = deliveries.results;
  assert.deepEqual([delivery.last_try.outcome, delivery.last_try.status], ['delivered', 200]);
  const record = (await home.ask('GET', `${list}notice_deliveries/${delivery.id}/`)).body;
  assert.deepEqual(JSON.parse(record.body), message);
  assert.equal(
    (await home.ask('POST', `${list}notice_deliveries/${delivery.id}/send/`)).status,
    200,
  );
  await send();
  assert.deepEqual(bodies(), [message, message]);
});

test('Microsoft Teams gets a message with an adaptive card', async () => {
  const { exported, bodies } = await withService('microsoft_teams');
  await endedRun(harness, exported.id, { ...failed, message: 'x'.repeat(40_000) });
  await send();
  const [{ type, attachments }] = bodies();
  assert.equal(type, 'message');
  const [{ contentType, content }] = attachments;
  assert.deepEqual(
    [contentType, content.type, content.version],
    ['application/vnd.microsoft.card.adaptive', 'AdaptiveCard', '1.4'],
  );
  assert.deepEqual(
    content.body.map((block: { type: string; inlines: { type: string }[] }) => [
      block.type,
      block.inlines.map((inline) => inline.type),
    ]),
    Array.from({ length: 5 }, () => ['RichTextBlock', ['TextRun']]),
    'nothing is read as Markdown',
  );
  assert.deepEqual(
    content.actions.map(({ type: kind, title }: Record<string, string>) => [kind, title]),
    [
      ['Action.OpenUrl', 'See the export'],
      ['Action.OpenUrl', 'See the run'],
    ],
  );
  assert.ok(JSON.stringify(bodies()[0]).length < 28_000, 'Teams takes 28 kB');
});

test('PagerDuty gets an incident for each state, which its end resolves', async () => {
  const { home, exported, target, list, bodies } = await withService('pagerduty', {
    secret: integration_key,
  });
  assert.equal(target.secret, null);
  await endedRun(harness, exported.id, failed);
  await endedRun(harness, exported.id, completed);
  await send();
  const key = `sluice/${exported.id}/failing`;
  const [trigger, resolve, ...others] = bodies();
  assert.deepEqual(others, []);
  assert.deepEqual(
    [trigger.routing_key, trigger.event_action, trigger.dedup_key, trigger.payload.severity],
    [integration_key, 'trigger', key, 'error'],
  );
  assert.match(trigger.payload.summary, /^The export Lake .* is failing: A run of the export/);
  assert.equal(trigger.payload.source, new URL(harness.deps.config.public_url).host);
  assert.equal(trigger.payload.timestamp, '2026-01-01T00:00:00.000000Z');
  assert.deepEqual(Object.keys(trigger.payload.custom_details), ['Project', 'Time', 'Interval']);
  assert.deepEqual(
    trigger.links.map(({ text }: { text: string }) => text),
    ['See the export', 'See the run'],
  );
  assert.deepEqual(resolve, {
    routing_key: integration_key,
    dedup_key: key,
    event_action: 'resolve',
  });
  const { results } = (await home.ask('GET', `${list}notice_deliveries/?target=${target.id}`)).body;
  const record = await home.ask('GET', `${list}notice_deliveries/${results[0].id}/`);
  assert.equal(JSON.parse(record.body.body).routing_key, hidden_part);
  assert.ok(!record.text.includes(integration_key));
});

test('a test of each service leaves no incident open, and is still shown later', async () => {
  for (const [type, fields] of [
    ['slack', {}],
    ['microsoft_teams', {}],
    ['pagerduty', { secret: integration_key }],
  ] as const) {
    const { home, target, list, bodies } = await withService(type, fields);
    const one = `${list}notice_targets/${target.id}/`;
    assert.equal((await home.ask('GET', one)).body.last_test, null);
    receiver.plan({ status: 404, body: 'no_service' });
    await home.ask('POST', `${one}test/`);
    now += 1_000;
    const refused = (await home.ask('GET', one)).body.last_test;
    assert.equal(refused.is_delivered, false);
    assert.match(refused.detail, /^The receiver answered 404 /);
    assert.deepEqual((await home.ask('POST', `${one}test/`)).body.is_delivered, true);
    const { last_test, last_updated_at } = (await home.ask('GET', one)).body;
    assert.deepEqual(last_test, {
      at: new Date(now).toISOString().replace('Z', '000Z'),
      is_delivered: true,
      detail: null,
    });
    assert.equal(last_updated_at, target.last_updated_at);
    const actions = bodies().map(({ event_action, dedup_key }) => [event_action, dedup_key]);
    if (type === 'pagerduty') {
      assert.deepEqual(
        actions.map(([action]) => action),
        ['trigger', 'trigger', 'resolve'],
      );
      assert.equal(actions[1]![1], actions[2]![1]);
    } else assert.equal(actions.length, 2);
  }
});

test('each service asks for its own fields, and refuses what it does not have', async () => {
  const home = await harness.newOrganization();
  const base = `/api/projects/${home.project.id}/notice_targets/`;
  const url = 'https://hooks.slack.com/services/T0/B0/0123456789';
  const cases: [Record<string, unknown>, string, string][] = [
    [{ type: 'slack' }, 'url', 'required'],
    [{ type: 'slack', url, secret: 'x' }, 'secret', 'invalid_input'],
    [{ type: 'microsoft_teams', url, address: 'a@example.com' }, 'address', 'invalid_input'],
    [{ type: 'pagerduty' }, 'secret', 'required'],
    [{ type: 'pagerduty', secret: 'short' }, 'secret', 'invalid_input'],
  ];
  for (const [body, attr, code] of cases) {
    const answer = await home.ask('POST', base, body);
    assert.deepEqual([answer.status, answer.body.attr, answer.body.code], [400, attr, code]);
  }
  const paged = await home.ask('POST', base, { type: 'pagerduty', secret: integration_key });
  assert.equal(paged.body.url, 'https://events.pagerduty.com/********');
  const moved = { url: 'https://events.eu.pagerduty.com/v2/enqueue' };
  const one = `${base}${paged.body.id}/`;
  const refused = await home.ask('PATCH', one, moved);
  assert.deepEqual([refused.status, refused.body.attr], [400, 'secret'], 'the key does not follow');
  const whole = { ...moved, secret: integration_key, name: 'On call' };
  assert.equal((await home.ask('PATCH', one, whole)).body.name, 'On call');
});
