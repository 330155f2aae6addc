import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness();

const texts = ['"\\"', '漢字', '\n\u0001\u2028', '}],{[', '\\u0022', '😀'];
const long = (text: string) => text.repeat(Math.ceil(70_000 / text.length));
const events = [
  { event: 'short', distinct_id: 'a', properties: { $elements_chain: 'a:b', x: 1 } },
  ...texts.map((text, index) => ({
    event: `long ${index} "${text}"`,
    distinct_id: `d${index}`,
    properties: {
      [text]: long(text),
      $elements_chain: long(`${text};`),
      $set: { text: long(text).slice(0, 40_000).toWellFormed() },
    },
  })),
  {
    event: String.raw`\N`,
    distinct_id: '\t\\N\r\n\\t',
    properties: { '\\': '\t\\n', $elements_chain: '\t\\\r\n\0', $set: { '\\': '\t\\n' } },
  },
  { event: 'last', distinct_id: 'a', properties: {} },
];

for (const [way, type, body] of [
  ['a list', 'application/json', JSON.stringify({ events })],
  ['lines', 'application/x-ndjson', events.map((one) => JSON.stringify(one)).join('\n')],
] as const)
  test(`long events are stored as short ones are, in ${way}`, async () => {
    const owner = await harness.newOrganization();
    const answer = await owner.ask('POST', `/api/projects/${owner.project.id}/events/`, body, {
      'content-type': type,
    });
    assert.deepEqual(answer.body, {
      taken: events.length,
      duplicates: 0,
      refused: 0,
      dropped: 0,
      rejected: 0,
      errors: [],
    });
    const rows = await harness.deps.clickhouse.rows<{ [column: string]: string }>({
      query:
        'SELECT event, distinct_id, properties, elements_chain, person_properties FROM events ' +
        'WHERE team_id = {team_id:Int64}',
      query_params: { team_id: owner.project.id },
    });
    const byName = new Map(rows.map((row) => [row['event'], row]));
    assert.equal(rows.length, events.length);
    for (const { event, distinct_id, properties } of events) {
      const { $set, $elements_chain = '' } = properties as Record<string, unknown>;
      assert.deepEqual(byName.get(event.trim()), {
        event: event.trim(),
        distinct_id,
        properties: JSON.stringify(properties),
        elements_chain: $elements_chain,
        person_properties: JSON.stringify($set ?? {}),
      });
    }
  });
