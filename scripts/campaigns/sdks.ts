// Unchanged SDKs against a server whose processes are killed, or through a proxy that cuts, delays,
// refuses and repeats. Prints what each client believes and what is stored; exit code 1 when an
// event that was believed delivered is not there once.
// npm run sdks -- kills [--kills 100 --seed 7 --minutes 20] 2>/dev/null (clients are talkative)
// Ctrl-C ends it early, and so do the minutes: what was sent by then is compared.
// npm run sdks -- faults [--client 'posthog|next']
// npm run sdks -- languages [--client 'Go|segment'] installs clients of Python and Go and lets each
// send every kind of event, meet a revoked key, a body that is too large and a busy server.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDeliveringHarness } from '../../test/factories/batch_exports/delivering_harness.ts';
import { startChromium } from '../../test/processes/chromium.ts';
import { faults as every_fault } from '../../test/sdks/fault_proxy.ts';
import { judgeLanguage } from '../../test/sdks/judge_language.ts';
import { installClients, skipped_clients } from '../../test/sdks/languages.ts';
import { root } from '../child.ts';
import { runKills } from '../../test/sdks/kill_campaign.ts';
import { node_clients } from '../../test/sdks/node_clients.ts';
import { faultClients, openShop } from '../../test/sdks/shop.ts';
import { isEachOnce, sendThroughFaults } from '../../test/sdks/through_faults.ts';
import type { FaultedClient } from '../../test/sdks/through_faults.ts';
import { anySeed, readOptions, refuse } from '../options.ts';

const [what = '', ...args] = process.argv.slice(2);
const options = readOptions({ kills: 100, client: '', minutes: 60, seed: anySeed() }, args);
const { seed } = options;
const campaigns: Record<string, () => Promise<boolean>> = { kills, faults, languages };
const campaign = campaigns[what];
if (campaign === undefined) refuse('Say what: kills, faults or languages.');
const folder = mkdtempSync(join(tmpdir(), 'sluice-sdks-'));
console.log(`seed ${seed}, in ${folder}`);
const say = (line: string) => console.log(line);
const is_right = await campaign();
say(is_right ? `seed ${seed}: right` : `seed ${seed}: WRONG, see above`);
// Keeps the folder with the faults for an inspection.
if (is_right) rmSync(folder, { recursive: true, force: true });
process.exit(is_right ? 0 : 1);

async function kills(): Promise<boolean> {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const over = AbortSignal.timeout(options.minutes * 60_000);
  const signal = AbortSignal.any([interrupted.signal, over]);
  const outcomes = await runKills({ folder, kills: options.kills, seed, say, signal });
  let all = true;
  for (const [name, { believed, given_up, lost, doubled }] of Object.entries(outcomes)) {
    all &&= believed > 0 && lost.length === 0 && doubled.length === 0;
    const wrong = [...lost, ...doubled].map((text) => `\n  ${text}`).join('');
    say(
      `${name}: ${believed} believed delivered, ${given_up} not told of, ${lost.length} lost, ` +
        `${doubled.length} doubled${wrong}`,
    );
  }
  return all;
}

/** Tests every fault with every client that retries after it, and names the other clients. */
async function faults(): Promise<boolean> {
  const harness = await openDeliveringHarness();
  const address = await harness.harness.app.listen({ host: '127.0.0.1', port: 0 });
  const browser = await startChromium();
  const shop = await openShop(browser);
  let all = true;
  const complain = (client: string, text: string) => {
    all = false;
    say(`the console of ${client}: ${text}`);
  };
  const every_client: FaultedClient[] = [...node_clients, ...faultClients(shop, complain)];
  const clients = every_client.filter(({ name }) => new RegExp(options.client).test(name));
  for (const fault of every_fault) {
    const passed = await Promise.all(
      clients.map(async (client) => {
        const passage = await sendThroughFaults(harness, address, client, [fault, 'repeat']);
        const gives_up = client.gives_up_after?.includes(fault) === true;
        const is_right = passage.happened.includes(fault) && isEachOnce(passage, gives_up);
        const word = gives_up ? 'at most once, and its program is told' : 'each once';
        say(`${fault}, ${client.name}: ${is_right ? word : JSON.stringify(passage)}`);
        return is_right;
      }),
    );
    all &&= passed.every(Boolean);
  }
  await shop.close();
  await browser.close();
  await harness.close();
  return all;
}

/** Clients of other languages: all that can be installed, each through all cases. */
async function languages(): Promise<boolean> {
  const { harness, close } = await openDeliveringHarness();
  const address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
  const every_client = await installClients(join(root, 'peers'));
  const clients = every_client.filter(({ name }) => new RegExp(options.client).test(name));
  for (const reason of skipped_clients) say(`skipped: ${reason}`);
  const faults_found = await Promise.all(
    clients.map(async (client) => {
      const found = await judgeLanguage(harness, address, client);
      say(`${client.name} ${client.version}: ${found.join('; ') || 'right'}`);
      return found.length;
    }),
  );
  await close();
  return clients.length > 0 && faults_found.every((count) => count === 0);
}
