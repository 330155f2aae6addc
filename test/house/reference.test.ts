import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api_reference, readExamples } from '../../server/api/reference/reference.ts';
import { listOperations } from '../fuzz/operations.ts';
import type { FuzzedDocument } from '../fuzz/operations.ts';
import { shareHarness } from '../harness.ts';
import { findFaults, without_example } from '../reference/faults.ts';

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    document = harness.app.swagger() as unknown as FuzzedDocument;
  },
});
let document: FuzzedDocument;

test('every operation has a real example that fits its schemas', async () => {
  const faults = findFaults(document, await readExamples());
  assert.deepEqual([...faults.values()], []);
});

test('an operation with an example is in no list of those without', async () => {
  const examples = await readExamples();
  assert.deepEqual(
    Object.keys(without_example).filter((id) => id in examples),
    [],
  );
});

test('every tag has a text, and every text a tag', () => {
  const used = new Set(listOperations(document).flatMap(({ tags }) => tags));
  const told = api_reference.groups.flatMap(({ tags }) => tags.map(({ name }) => name));
  assert.deepEqual(
    told.toSorted(),
    [...used].toSorted(),
    'Add the tag to a group in server/api/reference/tags.ts, or remove it there. A tag is the ' +
      'noun in the path.',
  );
});

test('no example holds anything that lets somebody in', async () => {
  const text = JSON.stringify(await readExamples());
  assert.doesNotMatch(text, /\bsl[a-z]_[0-9A-Za-z]{20}|whsec_[0-9A-Za-z]|127\.0\.0\.1/);
});
