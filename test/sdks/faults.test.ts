import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../around_tests.ts';
import { openDeliveringHarness } from '../factories/batch_exports/delivering_harness.ts';
import { is_deep } from '../depth.ts';
import { faults } from './fault_proxy.ts';
import type { Fault } from './fault_proxy.ts';
import { node_clients } from './node_clients.ts';
import { sendThroughFaults } from './through_faults.ts';

let address: string;
const harness = aroundTests(openDeliveringHarness, async (opened) => {
  address = await opened.harness.app.listen({ host: '127.0.0.1', port: 0 });
});

/**
 * The fault of the first request of each of `node_clients`. All but one client of a vendor are left
 * to the deep tests.
 */
const happening: [fault: Fault, deep?: 'deep'][] = [
  ['cut before'],
  ['cut within', 'deep'],
  ['cut after', 'deep'],
  ['delay', 'deep'],
  ['repeat'],
  ['503'],
  ['cut within'],
  ['delay'],
  ['cut after'],
  ['503', 'deep'],
  ['cut after'],
  ['503', 'deep'],
];

// All at once, because clients wait for seconds before they try again. `npm run sdks -- faults`
// lets every fault happen to every client.
test('the sent events are stored and exported once each, through every fault', async () => {
  assert.equal(node_clients.length, happening.length);
  const sending = node_clients
    .map((client, index) => ({ client, fault: happening[index]![0] }))
    .filter((_one, index) => is_deep || happening[index]![1] === undefined);
  assert.equal(new Set(sending.map(({ fault }) => fault)).size, faults.length - 1);
  const passages = await Promise.all(
    sending.map(async ({ client, fault }) => ({
      client,
      fault,
      ...(await sendThroughFaults(harness, address, client, [fault])),
    })),
  );
  for (const { client, fault, happened, wanted, stored, delivered } of passages) {
    const told = `${client.name}: ${happened.join(', ')}`;
    assert.equal(happened[0], fault, told);
    assert.deepEqual(stored, wanted, told);
    assert.deepEqual(delivered, wanted, told);
  }
});
