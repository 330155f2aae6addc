import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { parseExact } from '../parse/exact_json.ts';
import { parseEvent } from '../parse/parse.ts';
import { intakeOf, judgeOf, openJudge } from './intake.ts';
import type { Wishes } from './intake.ts';
import type { Rule } from './rule.ts';

const hash_key = Buffer.alloc(32, 7).toString('base64');
const hashed = (text: string) =>
  createHmac('sha256', Buffer.from(hash_key, 'base64')).update(text).digest('hex');
const nothing: Wishes = {
  rules: [],
  hash_key,
  fill_device_properties: false,
  plan: { events: [], unplanned_events: 'allow' },
};

let rule_number = 0;
function rule(fields: Partial<Rule> & Pick<Rule, 'action'>): Rule {
  rule_number += 1;
  return {
    id: `rule ${rule_number}`,
    events: [],
    property: null,
    target: fields.action === 'set_property' ? 'event' : 'any',
    new_name: null,
    value: null,
    only_if_missing: false,
    ...fields,
  };
}

/** The stored text of the properties, or what else became of the event. */
function storedOf(rules: Rule[], properties: string, event = 'bought'): string {
  const text = `{"event":${JSON.stringify(event)},"distinct_id":"ada","properties":${properties}}`;
  const read = parseEvent(text, 0, judgeOf({ ...nothing, rules }));
  return read.event?.properties ?? `dropped by ${read.dropped_by ?? 'nobody'}`;
}

const drop = (property: string, fields: Partial<Rule> = {}) =>
  rule({ action: 'drop_property', property, ...fields });
const hash = (property: string, fields: Partial<Rule> = {}) =>
  rule({ action: 'hash_property', property, ...fields });
const rename = (property: string, new_name: string, fields: Partial<Rule> = {}) =>
  rule({ action: 'rename_property', property, new_name, ...fields });
const set = (property: string, value: Rule['value'], fields: Partial<Rule> = {}) =>
  rule({ action: 'set_property', property, value, ...fields });

const cases: [says: string, rules: Rule[], properties: string, stored: string][] = [
  ['drop everywhere', [drop('a')], '{"a":1,"b":2,"$set":{"a":1,"c":1}}', '{"b":2,"$set":{"c":1}}'],
  [
    'drop of the event',
    [drop('a', { target: 'event' })],
    '{"a":1,"$set":{"a":1}}',
    '{"$set":{"a":1}}',
  ],
  [
    'drop of the person',
    [drop('a', { target: 'person' })],
    '{"a":1,"$set_once":{"a":1}}',
    '{"a":1,"$set_once":{}}',
  ],
  [
    'drop of the group',
    [drop('a', { target: 'group' })],
    '{"a":1,"$group_set":{"a":1}}',
    '{"a":1,"$group_set":{}}',
  ],
  [
    'drop by the beginning',
    [drop('$geoip*')],
    '{"$geoip_city":"x","$geoip":1,"geoip":2}',
    '{"geoip":2}',
  ],
  [
    'drop all',
    [drop('*', { target: 'event' })],
    '{"a":1,"distinct_id":"d","uuid":"u","timestamp":1}',
    '{"distinct_id":"d","uuid":"u","timestamp":1}',
  ],
  [
    'drop a path',
    [drop('context.ip')],
    '{"context":{"ip":"1.2.3.4","os":1}}',
    '{"context":{"os":1}}',
  ],
  ['a name with a dot first', [drop('a.b')], '{"a.b":1,"a":{"b":2}}', '{"a":{"b":2}}'],
  ['no path into a list', [drop('a.0')], '{"a":[1]}', '{"a":[1]}'],
  ['drop what sets persons', [drop('$set')], '{"$set":{"a":1},"b":1}', '{"b":1}'],
  ['hash', [hash('a')], '{"a":"ada@example.com"}', `{"a":"${hashed('ada@example.com')}"}`],
  ['hash the text of a number', [hash('a')], '{"a":1.50}', `{"a":"${hashed('1.50')}"}`],
  ['hash an object', [hash('a')], '{"a":{"b":1e5}}', `{"a":"${hashed('{"b":1e5}')}"}`],
  ['nothing has no hash', [hash('*')], '{"a":null,"b":""}', '{"a":null,"b":""}'],
  ['holders are not hashed', [hash('$*')], '{"$set":{"a":"x"}}', '{"$set":{"a":"x"}}'],
  [
    'rename',
    [rename('a', 'z')],
    '{"a":10.0,"b":1,"$set":{"a":1}}',
    '{"b":1,"$set":{"z":1},"z":10.0}',
  ],
  ['rename what is unset', [rename('a', 'z')], '{"$unset":["a","b"]}', '{"$unset":["z","b"]}'],
  ['rename to a name that is taken', [rename('a', 'b')], '{"a":1,"b":2}', '{"a":1,"b":2}'],
  ['set', [set('env', 'prod')], '{"env":"x"}', '{"env":"prod"}'],
  [
    'set if missing',
    [set('env', 'prod', { only_if_missing: true })],
    '{"env":null}',
    '{"env":null}',
  ],
  ['set of the person', [set('plan', 1.5, { target: 'person' })], '{}', '{"$set":{"plan":1.5}}'],
  ['set of a group elsewhere', [set('a', true, { target: 'group' })], '{}', '{}'],
  ['in their order', [rename('a', 'b'), hash('b'), drop('b')], '{"a":"x"}', '{}'],
  ['another event', [drop('a', { events: ['sold', 'boughts*'] })], '{"a":1}', '{"a":1}'],
  ['one of the events', [drop('a', { events: ['sold', 'bou*'] })], '{"a":1}', '{}'],
  [
    'numbers stay as they are',
    [drop('x')],
    '{"a":1.0,"b":1e5,"c":-0,"d":12345678901234567890,"x":1}',
    '{"a":1.0,"b":1e5,"c":-0,"d":12345678901234567890}',
  ],
  [
    'names of the language',
    [drop('__p*'), set('constructor', 1)],
    '{"__proto__":1,"toString":2}',
    '{"toString":2,"constructor":1}',
  ],
  [
    'a property that nobody sent',
    [drop('toString'), hash('constructor'), rename('valueOf', 'a')],
    '{}',
    '{}',
  ],
];
for (const [says, rules, properties, stored] of cases)
  test(`rules: ${says}`, () => assert.equal(storedOf(rules, properties), stored));

test('an event is dropped by the first rule that says so', () => {
  const rules = [rule({ action: 'drop_event', events: ['debug*'] }), drop('a')];
  assert.equal(storedOf(rules, '{}', 'debug 1'), `dropped by ${rules[0]!.id}`);
  assert.equal(storedOf(rules, '{"a":1}', 'bought'), '{}');
});

test('rules change what is stored, and never whose it is', () => {
  const text = JSON.stringify({
    event: '$identify',
    distinct_id: 'ada',
    properties: { $anon_distinct_id: 'anonymous', distinct_id: 'ada' },
  });
  const rules = [drop('$anon_distinct_id'), hash('*')];
  const { event } = parseEvent(text, 0, judgeOf({ ...nothing, rules }));
  assert.deepEqual(event!.merge, { other: 'anonymous', is_forced: false });
  assert.equal(event!.distinct_id, 'ada');
  assert.equal(event!.properties, '{"distinct_id":"ada"}');
  assert.deepEqual(event!.changed_by, [rules[0]!.id]);
});

test('what is sent stays as it is, and a thousand rules take no time', () => {
  const given = parseExact('{"a":{"b":{"c":1}},"$set":{"a":1.0}}') as Record<string, unknown>;
  const before = JSON.stringify(given);
  const rules = Array.from({ length: 1_000 }, (_, at) => drop(at === 0 ? 'a.b.c' : `a${at}*`));
  const judge = judgeOf({ ...nothing, rules });
  const began = performance.now();
  for (let at = 0; at < 100; at += 1) judge('bought', given, undefined);
  assert.ok(performance.now() - began < 2_000);
  assert.equal(JSON.stringify(given), before);
  const judged = judge('bought', given, undefined);
  assert.equal(judged.problem ?? judged.dropped_by, undefined);
});

test('an intake is opened once, again when it changes, and is none without wishes', () => {
  assert.equal(intakeOf(1, nothing), undefined);
  const first = intakeOf(1, { ...nothing, rules: [drop('a')] })!;
  assert.equal(first.hides, true);
  assert.equal(openJudge(first), openJudge(structuredClone(first)));
  const second = intakeOf(1, { ...nothing, rules: [set('a', 1)] })!;
  assert.notEqual(openJudge(first), openJudge(second));
  assert.equal(second.hides, false);
});

const mac =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) ';
const agents: [text: string, told: string][] = [
  [`${mac}Chrome/129.0.0.0 Safari/537.36`, 'Chrome 129 Mac OS X 10.15.7 Desktop'],
  [
    `${mac}Chrome/128.0.0.0 Safari/537.36 Edg/128.0.0.0`,
    'Microsoft Edge 128 Mac OS X 10.15.7 Desktop',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like ' +
      'Gecko) CriOS/126.0.6478.35 Mobile/15E148 Safari/604.1',
    'Chrome iOS 126 iOS 17.5.1 Mobile',
  ],
  [
    'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0',
    'Firefox 130 Linux undefined Desktop',
  ],
  ['posthog-python/3.0', ''],
  ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', ''],
  ['('.repeat(100_000), ''],
];
test('browser, system and device are those of posthog-js, and what was sent stays', () => {
  const judge = judgeOf({ ...nothing, fill_device_properties: true });
  for (const [text, told] of agents) {
    const judged = judge('a', {}, text) as { properties: Record<string, unknown> };
    assert.equal(
      Object.values(judged.properties).join(' '),
      told.replaceAll('undefined', ''),
      text,
    );
  }
  const own = { $raw_user_agent: agents[0]![0], $os: 'Windows' };
  const judged = judge('a', own, agents[2]![0]) as { properties: Record<string, unknown> };
  assert.deepEqual(judged.properties, {
    ...own,
    $browser: 'Chrome',
    $browser_version: 129,
    $device_type: 'Desktop',
  });
});

const plan: Wishes['plan'] = {
  unplanned_events: 'refuse',
  events: [
    {
      event: 'bought',
      mode: 'warn',
      other_properties: 'report',
      properties: [
        { name: 'total', type: 'number', required: true },
        { name: 'items', type: 'integer', required: false },
        { name: 'tags', type: 'list', required: false },
        { name: 'kind', type: 'any', required: false, values: ['new', 10, true] },
      ],
    },
  ],
};
const plan_cases: [event: string, properties: string, says: string | undefined][] = [
  ['bought', '{"total":1}', undefined],
  ['bought', '{"total":1.0,"items":10.0,"tags":[],"$lib":"web"}', undefined],
  ['bought', '{"total":12345678901234567890,"items":1e3}', undefined],
  ['bought', '{"total":null}', 'Differs from the plan: `total` is missing.'],
  ['bought', '{"total":"1"}', 'Differs from the plan: `total` is text, not a number.'],
  [
    'bought',
    '{"total":1,"items":1.5}',
    'Differs from the plan: `items` is a number, not an integer.',
  ],
  ['bought', '{"total":1,"tags":{}}', 'Differs from the plan: `tags` is an object, not a list.'],
  ['bought', '{"total":1,"other":1}', 'Differs from the plan: `other` is not in the plan.'],
  ...['"new"', '10', '10.0', '1e1', 'true', 'null'].map((kind): [string, string, undefined] => [
    'bought',
    `{"total":1,"kind":${kind}}`,
    undefined,
  ]),
  ...['"old"', '"10"', '11', 'false', '[10]', '{}'].map((kind): [string, string, string] => [
    'bought',
    `{"total":1,"kind":${kind}}`,
    'Differs from the plan: `kind` has a value that is not in the plan.',
  ]),
  ['$pageview', '{}', undefined],
  ['sold', '{}', 'The tracking plan has no such event.'],
];
test('events are compared with the tracking plan after the rules', () => {
  for (const mode of ['warn', 'refuse'] as const) {
    const [bought] = plan.events;
    const judge = judgeOf({ ...nothing, plan: { ...plan, events: [{ ...bought!, mode }] } });
    for (const [event, properties, says] of plan_cases) {
      const text = `{"event":"${event}","distinct_id":"ada","properties":${properties}}`;
      const read = parseEvent(text, 0, judge);
      const told = read.event === undefined ? read.problems?.[0]?.detail : read.event.off_plan;
      assert.equal(told, says, text);
      assert.equal(
        read.event === undefined,
        says !== undefined && (mode === 'refuse' || event === 'sold'),
      );
    }
  }
  const renamed = judgeOf({ ...nothing, plan, rules: [rename('sum', 'total')] });
  const text = '{"event":"bought","distinct_id":"ada","properties":{"sum":1}}';
  assert.equal(parseEvent(text, 0, renamed).event!.off_plan, undefined);
});
