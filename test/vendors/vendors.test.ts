import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ToolMapping } from '../../server/engine/plugins/tools/tool.ts';
import type { ToolOutcome } from '../../server/engine/plugins/sandbox/tool_outcome.ts';
import { retrySecondsOf } from '../../server/engine/plugins/running/sending/tool_answers.ts';
import { inTurn } from '../depth.ts';
import { openToolTrials } from '../factories/plugins/tool_trials.ts';
import type { ToolTrials } from '../factories/plugins/tool_trials.ts';
import { openVendorReceiver } from './receiver.ts';
import type { VendorReceiver } from './receiver.ts';
import { openVendorTrial } from './story.ts';
import type { VendorTrial } from './story.ts';
import { readVendors } from './vendors.ts';

const vendors = readVendors();
let receiver: VendorReceiver;
let trials: ToolTrials;
before(async () => {
  receiver = await openVendorReceiver(vendors);
  trials = await openToolTrials(receiver.fetch);
  // One stays loaded, so that the process does.
  await trials.load('slack');
});
after(async () => {
  await trials.close();
  await receiver.close();
});

function assertRefused(outcome: ToolOutcome, words: string): void {
  assert.equal(outcome.kind, 'refused', JSON.stringify(outcome));
  const reason = 'reason' in outcome ? outcome.reason.toLowerCase() : '';
  assert.ok(reason.includes(words.toLowerCase()), JSON.stringify(outcome));
}

for (const vendor of inTurn(vendors, 3))
  describe(`The documented answers of ${vendor.name}`, () => {
    const { bad, batch, limited, routes } = vendor;
    let trial: VendorTrial;
    let main: ToolMapping;
    before(async () => {
      trial = await openVendorTrial(trials, vendor);
      main = trial.mappings.find(({ name }) => name === bad?.mapping) ?? trial.mappings[0]!;
    });
    after(() => trial.close());

    test('The vendor takes an event of each preset', async () => {
      const others: string[] = [];
      for (const mapping of trial.mappings) {
        const outcome = await trial.send(mapping);
        if (outcome.kind !== 'sent') others.push(`${mapping.name}: ${JSON.stringify(outcome)}`);
      }
      assert.deepEqual(others, []);
      assert.deepEqual(receiver.faults, []);
      assert.ok(receiver.taken(vendor).length > 0);
    });

    if (Object.keys(vendor.wrong).length > 0 || vendor.variable !== undefined)
      test('A wrong key is told as that, and not as a fault of the event', async () => {
        const count = receiver.taken(vendor).length;
        const outcome = await trial.sendWrong(main);
        assert.equal(outcome.kind, 'denied', JSON.stringify(outcome));
        assert.equal(receiver.taken(vendor).length, count);
      });

    test('A limit is told with the rest that the vendor asks for', async () => {
      receiver.next(vendor, 'limited', 1);
      const outcome = await trial.send(main);
      const status = limited.is_of_person === true ? 425 : 429;
      assert.ok(outcome.kind === 'retry' && outcome.status === status, JSON.stringify(outcome));
      const seconds = retrySecondsOf(outcome, Date.now());
      if (limited.rest_seconds === null) assert.equal(seconds, undefined);
      // The end of a window is told in whole seconds.
      else assert.ok(Math.abs(seconds! - limited.rest_seconds) <= 2, `${seconds} s`);
    });

    test('An outage is a reason to try again', async () => {
      receiver.next(vendor, 'outage', 1);
      const outcome = await trial.send(main);
      assert.equal(outcome.kind, 'retry', JSON.stringify(outcome));
      assert.equal((await trial.send(main)).kind, 'sent');
    });

    if (bad !== null)
      test("A refused event has the vendor's own reason", async () => {
        assertRefused(await trial.send(main, bad.event), bad.says);
      });

    if (routes.some(({ key }) => key !== undefined))
      test('A repeated event is known by its key', async () => {
        const count = receiver.kept(vendor).length;
        const id = { messageId: '0190163d-8694-739b-aea5-966c26f8ad92' };
        await trial.send(main, id);
        const once = receiver.kept(vendor).length;
        await trial.send(main, id);
        assert.ok(once > count);
        assert.equal(receiver.kept(vendor).length, once);
      });

    if (batch !== undefined && bad !== null)
      test('Of a batch the refused event alone is refused', async () => {
        const mapping = trial.mappings.find(({ name }) => name === batch)!;
        const events = [1, 2, 3].map((number) => ({
          userId: `person-${number}`,
          messageId: `event-${number}`,
          traits: { email: `person-${number}@acme.com` },
          ...(number === 2 ? bad.event : {}),
        }));
        const outcomes = await trial.sendBatch(mapping, events);
        const [first, second, third] = outcomes;
        const isWhole = outcomes.every((one) => 'together' in one && one.together === 3);
        // Nobody knows whose fault it is: the batch is sent again in parts.
        if (isWhole) return;
        assertRefused(second!, bad.says);
        for (const other of [first!, third!]) assert.match(other.kind, /^(sent|retry)$/);
        assert.ok(!outcomes.some((one) => 'status' in one && one.status === 429));
      });

    if (batch !== undefined)
      test('Limits and outages are told for all events of a batch', async () => {
        const mapping = trial.mappings.find(({ name }) => name === batch)!;
        const events = [1, 2].map((number) => ({ userId: `person-${number}` }));
        receiver.next(vendor, 'limited', 1);
        const slow = await trial.sendBatch(mapping, events);
        assert.ok(slow.every((one) => one.kind === 'retry' && one.status === 429));
        receiver.next(vendor, 'outage', 1);
        const down = await trial.sendBatch(mapping, events);
        assert.ok(down.every((one) => one.kind === 'retry' && one.status !== 429));
      });
  });
