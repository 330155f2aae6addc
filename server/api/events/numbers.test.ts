import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../test/harness.ts';
import { extractText, readableJson } from '../../engine/model/models/readable_json.ts';

const harness = shareHarness();

const numbers = ['1.0', '1.10', '1e5', '1E+2', '-0.0', '-0', '0.0000001', '9007199254740993'];
const nested = numbers.map((number, index) => `"n${index}":${number}`).join(',');

test('numbers are stored as they were sent, by every way in, on events and persons', async () => {
  const owner = await harness.newOrganization();
  const event = (name: string) =>
    `{"event":"${name}","distinct_id":"${name}","properties":{${nested},"$set":{${nested}}}}`;
  const post = (body: string, type: string) =>
    owner.ask('POST', `/api/projects/${owner.project.id}/events/`, body, { 'content-type': type });
  for (const [body, type] of [
    [event('alone'), 'application/json'],
    [`{"events":[${event('list')}]}`, 'application/json'],
    [`${event('line')}\n`, 'application/x-ndjson'],
  ] as const)
    assert.equal((await post(body, type)).body.taken, 1);
  for (const [table, column, text] of [
    ['events', 'properties', `{${nested},"$set":{${nested}}}`],
    ['events', 'person_properties', `{${nested}}`],
    ['persons', 'properties', `{${nested}}`],
  ] as const) {
    const found = await harness.deps.clickhouse.rows<{ text: string }>({
      query: `SELECT ${column} AS text FROM ${table} WHERE team_id = {team_id:Int64}`,
      query_params: { team_id: owner.project.id },
    });
    const texts = found.map((row) => row.text);
    assert.deepEqual(texts, [text, text, text]);
  }
});

test('a query reads a property the same however its number was written', async () => {
  const pairs = [
    ['1.0', '1'],
    ['1.10', '1.1'],
    ['1e5', '100000'],
    ['1E+2', '100'],
    ['-0', '0'],
    ['0.0000001', '1e-7'],
    ['1e+21', '1e21'],
  ];
  const texts = pairs.flat().map((number) => `'{"n":${number}}'`);
  const read = await harness.deps.clickhouse.rows<unknown>({
    query: `SELECT ${extractText(readableJson('document'), ["'n'"])} AS text,
      JSONExtractInt(document, 'n') AS whole, JSONExtractFloat(document, 'n') AS number
      FROM (SELECT arrayJoin([${texts.join(', ')}]) AS document)`,
  });
  assert.equal(read.length, texts.length);
  for (const [at, pair] of pairs.entries())
    assert.deepEqual(read[2 * at], read[2 * at + 1], pair.join(' and '));
});
