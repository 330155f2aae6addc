import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openDeliveringHouse } from '../factories/delivering_house.ts';
import type { DeliveringHouse } from '../factories/delivering_house.ts';
import { faults } from './fault_proxy.ts';
import type { Fault } from './fault_proxy.ts';
import { node_clients } from './node_clients.ts';
import { sendThroughFaults } from './through_faults.ts';

let house: DeliveringHouse;
let address: string;
before(async () => {
  house = await openDeliveringHouse();
  address = await house.house.app.listen({ host: '127.0.0.1', port: 0 });
});
after(() => house.close());

/** What happens to the first request of each of `node_clients`. */
const happening: Fault[] = [
  'cut before',
  'cut within',
  'cut after',
  'delay',
  'repeat',
  '503',
  '503',
  'repeat',
  'cut after',
  '503',
];

// All at once, because clients wait for seconds before they try again. `npm run sdks -- faults`
// lets every fault happen to every client.
test('what programs sent is what is stored and exported, each once, whatever happens', async () => {
  assert.equal(node_clients.length, happening.length);
  assert.equal(new Set(happening).size, faults.length - 1);
  const passages = await Promise.all(
    node_clients.map(async (client, index) => {
      const fault = happening[index]!;
      return { client, fault, ...(await sendThroughFaults(house, address, client, [fault])) };
    }),
  );
  for (const { client, fault, happened, wanted, stored, delivered } of passages) {
    const told = `${client.name}: ${happened.join(', ')}`;
    assert.equal(happened[0], fault, told);
    assert.deepEqual(stored, wanted, told);
    assert.deepEqual(delivered, wanted, told);
  }
});
