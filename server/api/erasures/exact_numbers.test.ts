import assert from 'node:assert/strict';
import { test } from 'node:test';
import { erasing } from '../../../test/factories/events/erasures.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: true });
const { ask, send } = erasing(() => ({ harness }));
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

test('a number of a filter means the events with exactly its digits', async () => {
  const home = await harness.newOrganization();
  const events = ['9007199254740992', '9007199254740993', '9007199254740993', '5'].map((id) => ({
    event: 'seen',
    distinct_id: 'ada',
    properties: { id: rawJSON(id) },
  }));
  await send(home, events);
  const counted = async (value: string) => {
    const filter = { properties: [{ key: 'id', value: rawJSON(value) }] };
    const { status, body, text } = await ask(home, 'POST', 'erasures/preview/', { filter });
    assert.equal(status, 200, text);
    return body.events as number;
  };
  assert.equal(await counted('9007199254740993'), 2);
  assert.equal(await counted('9007199254740992'), 1);
  // Another spelling of a number that a double holds.
  assert.equal(await counted('5.0'), 1);
});
