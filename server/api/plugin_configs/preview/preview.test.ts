import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { TestOrganization } from '../../../../test/harness.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { setPluginsLevel } from '../../../../test/factories/plugins/plugins.ts';

let home: TestOrganization;
let http: number;
let slack: number;
const install = async (own: TestOrganization, name: string): Promise<number> => {
  const path = `/api/organizations/${own.organization.id}/pipeline_destinations/`;
  const { status, body, text } = await own.ask('POST', path, { plugin_type: 'repository', name });
  assert.equal(status, 201, text);
  return body.id;
};
const harness = shareHarness({
  opened: async () => {
    home = await harness.newOrganization();
    http = await install(home, 'HTTP request');
    slack = await install(home, 'Slack');
  },
});

const event = {
  event: 'Order completed',
  distinct_id: 'ada',
  properties: { price: 19.5, $browser: 'Firefox' },
};
const preview = (body: object, own: TestOrganization = home) =>
  own.ask('POST', `/api/projects/${own.project.id}/plugin_configs/preview/`, { event, ...body });
const url = { '@template': 'https://acme.com/{{properties.price}}/{{secret}}' };
const mapping = { url, method: 'POST', body: { what: { '@path': '$.event' } } };
const one = { partnerAction: 'send', subscribe: 'type = "track"', mapping };

test('A request is shown for each mapping, or why there is none', async () => {
  const { status, body } = await preview({
    plugin: http,
    mappings: [
      { ...one, mapping: { ...mapping, format: 'json' } },
      { ...one, subscribe: 'event = "x" and properties.$browser = "Firefox"' },
      { ...one, subscribe: 'event = = = 1' },
      { ...one, partnerAction: 'gone' },
      { ...one, consent: 'Ads', mapping: { ...mapping, format: 'xml' } },
    ].map((given) => ({ ...given, mapping: { format: 'json', ...given.mapping } })),
  });
  assert.equal(status, 200);
  assert.deepEqual(JSON.parse(body.event).properties, { price: 19.5 });
  const [sent, filtered, unread, gone, refused] = body.results;
  assert.deepEqual([sent.outcome, sent.reason], ['sent', null]);
  assert.deepEqual(sent.request, {
    url: 'https://acme.com/19.5/SECRET',
    method: 'POST',
    headers: [['content-type', 'application/json']],
    body: '{"what":"Order completed"}',
  });
  assert.equal(filtered.outcome, 'filtered');
  assert.match(filtered.reason, /event is "Order completed", and it wants = "x"/);
  assert.deepEqual(filtered.filter.filters[1], {
    path: ['properties', '$browser'],
    operator: 'is',
    value: 'Firefox',
  });
  assert.equal(filtered.request.method, 'POST');
  assert.deepEqual([unread.outcome, unread.filter], ['invalid', null]);
  assert.match(unread.filter_fault, /needs a value/);
  assert.match(gone.reason, /one of these as partnerAction: send/);
  assert.match(refused.reason, /consented to Ads/);
});

test('The fields of a catalogue tool are mapped, and a missing one is named', async () => {
  const message = (given: object) => ({
    partnerAction: 'postToChannel',
    subscribe: 'type = "track"',
    mapping: { url: 'https://hooks.slack.com/services/T/B/X', ...given },
  });
  const { body } = await preview({
    plugin: slack,
    mappings: [
      message({ text: { '@template': 'Hi {{event}}' }, username: '', channel: 'x' }),
      message({ text: { '@path': '$.properties.absent' }, username: 'u', channel: 'x' }),
    ],
  });
  const [sent, missing] = body.results;
  assert.equal(JSON.parse(sent.fields ?? '{}').text, 'Hi Order completed', body.text);
  assert.equal(missing.outcome, 'invalid');
  assert.match(missing.reason, /no value for Message \(text\)/);
  assert.equal(missing.request, null);
});

test('An address is judged as when it is sent to', async () => {
  const judged = async (plugin: number, given: unknown, allowed_hosts?: string[]) => {
    const own = plugin === http ? { ...mapping, format: 'json' } : { text: 'a', username: 'u' };
    const partnerAction = plugin === http ? 'send' : 'postToChannel';
    const { body } = await preview({
      plugin,
      mappings: [{ ...one, partnerAction, mapping: { ...own, url: given } }],
      ...(allowed_hosts === undefined ? {} : { allowed_hosts }),
    });
    return [body.results[0].outcome, body.results[0].reason];
  };
  const said = (host: string) =>
    `The plugin may not reach ${host}: add it to the allowed hosts of the plugin.`;
  for (const plugin of [http, slack]) {
    const unread = ['invalid', 'The URL cannot be read.'];
    assert.deepEqual(await judged(plugin, 'not a url', ['acme.com']), unread);
    assert.deepEqual(await judged(plugin, 'not a url'), unread);
    assert.deepEqual(await judged(plugin, 'http://127.0.0.1:8080/', []), [
      'waits',
      said('127.0.0.1:8080'),
    ]);
    assert.deepEqual(await judged(plugin, 'https://acme.com/', ['*.acme.com']), [
      'waits',
      said('acme.com'),
    ]);
    assert.deepEqual(await judged(plugin, 'https://a.acme.com/', ['*.acme.com']), ['sent', null]);
    assert.deepEqual(await judged(plugin, 'https://acme.com/'), ['sent', null]);
    const [outcome, reason] = await judged(plugin, 'https://acme.com:25/', ['acme.com']);
    assert.deepEqual([outcome, /Port 25 is reserved/.test(reason)], ['invalid', true]);
    for (const inside of ['169.254.169.254', '10.0.0.7']) {
      const refused = await judged(plugin, `http://${inside}/`, [inside]);
      assert.equal(refused[0], 'invalid');
      assert.match(refused[1], /not globally reachable .*Sluice refuses to connect/);
    }
    assert.deepEqual(await judged(plugin, 'http://127.0.0.1/', ['127.0.0.1']), ['sent', null]);
  }
  const hidden = { '@template': 'https://{{secret}}/x' };
  assert.deepEqual(await judged(http, hidden, []), ['sent', null], 'the host is a secret');
});

test('Only tools of the organization are previewed, by those who may configure them', async () => {
  const other = await harness.newOrganization();
  const { status, body } = await preview({ plugin: http, mappings: [one] }, other);
  assert.deepEqual([status, body.attr], [400, 'plugin']);
  const stored = await preview({ plugin: http, mappings: [one], event_uuid: randomUUID() });
  assert.deepEqual([stored.status, stored.body.attr], [400, 'event_uuid']);
  const deep = JSON.parse(`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`) as object;
  const nested = await preview({ plugin: http, mappings: [{ ...one, mapping: deep }] });
  assert.match(nested.body.results?.[0].reason ?? nested.body.detail, /nested deeper|deep/);
  await setPluginsLevel(harness, home, 0);
  assert.equal((await preview({ plugin: http, mappings: [one] })).status, 403);
});
