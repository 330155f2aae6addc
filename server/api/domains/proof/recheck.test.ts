import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { beforeEach, test } from 'node:test';
import { pino } from 'pino';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  openDomainWorld,
  proofNameOf,
  proofOf,
} from '../../../../test/factories/people/domains.ts';
import type { Deps } from '../../../deps.ts';
import { challengeName } from './challenge.ts';
import { claimDueDomain } from './proof_store.ts';
import { recheckDomains } from './recheck.ts';
import type { DomainRow } from '../schema.ts';

let deps: Deps;
const world = aroundTests(openDomainWorld, async (opened) => {
  ({ deps } = opened.harness);
});
beforeEach(() => deps.db.run(sql`DELETE FROM domains`));

/** Claims domains whose first look-up is due now. */
async function dueDomains(count: number): Promise<DomainRow[]> {
  const home = await world.harness.newOrganization();
  const domains: DomainRow[] = [];
  for (let number = 1; number <= count; number += 1) domains.push(await world.claim(home));
  world.goTo(world.now() + 60_000);
  return domains;
}

const questions = (domain: DomainRow) =>
  world.resolvers[0]!.queries.filter(
    ({ name, type }) => name === proofNameOf(domain) && type === 'TXT',
  ).length;
const states = () =>
  deps.db.rows<{ domain: string; state: string }>(
    sql`SELECT domain, state FROM domains ORDER BY domain`,
  );

test('processes that look domains up at once share them', async () => {
  const domains = await dueDomains(24);
  for (const domain of domains)
    world.resolvers[0]!.set(proofNameOf(domain), { records: [proofOf(domain)], delay_ms: 5 });
  const counts = await Promise.all([1, 2, 3].map(() => recheckDomains(deps)));
  assert.equal(counts[0]! + counts[1]! + counts[2]!, 24);
  assert.ok(counts.every((count) => count > 0));
  for (const domain of domains) assert.equal(questions(domain), 1, domain.domain);
  assert.ok((await states()).every(({ state }) => state === 'verified'));
});

test('the server looks up a bounded number of domains at a time', async () => {
  for (const domain of await dueDomains(12))
    world.resolvers[0]!.set(proofNameOf(domain), { delay_ms: 30 });
  let open = 0;
  let open_max = 0;
  const dns: Deps['dns'] = {
    lookupTxt: async (name, signal) => {
      open += 1;
      open_max = Math.max(open_max, open);
      return deps.dns.lookupTxt(name, signal).finally(() => (open -= 1));
    },
  };
  assert.equal(await recheckDomains({ ...deps, dns }, { concurrency: 3 }), 12);
  assert.equal(open_max, 3);
});

test('a domain whose process died is looked up by another a minute later', async () => {
  const [domain] = await dueDomains(1);
  assert.equal((await claimDueDomain(deps.db, world.now(), world.now() + 60_000))?.id, domain!.id);
  assert.equal(await recheckDomains(deps), 0);
  world.goTo(world.now() + 59_999);
  assert.equal(await recheckDomains(deps), 0);
  world.goTo(world.now() + 1);
  assert.deepEqual([await recheckDomains(deps), questions(domain!)], [1, 1]);
});

test('a fault with one domain is logged and holds up no other', async () => {
  const [bad, ...good] = await dueDomains(6);
  const lines: { domain_id: string }[] = [];
  const sink = new Writable({
    write: (chunk, _encoding, next) => next(void lines.push(JSON.parse(String(chunk)))),
  });
  const dns: Deps['dns'] = {
    lookupTxt: (name, signal) =>
      name === challengeName(bad!.domain)
        ? Promise.reject(new Error('A fault of ours.'))
        : deps.dns.lookupTxt(name, signal),
  };
  assert.equal(await recheckDomains({ ...deps, dns, log: pino({}, sink) }), 6);
  assert.deepEqual(
    lines.map(({ domain_id }) => domain_id),
    [bad!.id],
  );
  assert.deepEqual([questions(bad!), ...good.map(questions)], [0, 1, 1, 1, 1, 1]);
  world.goTo(world.now() + 60_000);
  assert.equal(await recheckDomains(deps), 1);
});

test('stopping ends the look-ups in progress and discards their results', async () => {
  const [domain] = await dueDomains(1);
  world.resolvers[0]!.set(proofNameOf(domain!), { silent: 'always' });
  const stopping = new AbortController();
  const checking = recheckDomains(deps, { signal: stopping.signal });
  while (questions(domain!) === 0) await new Promise(setImmediate);
  stopping.abort();
  assert.equal(await checking, 0);
  const row = await deps.db.row<{ last_checked_at: string | null }>(
    sql`SELECT last_checked_at FROM domains`,
  );
  assert.equal(row?.last_checked_at, null);
});

test('a domain or organization deleted during its look-up causes no fault', async () => {
  const domains = await dueDomains(2);
  for (const domain of domains)
    world.resolvers[0]!.set(proofNameOf(domain), { records: [proofOf(domain)], delay_ms: 100 });
  const checking = recheckDomains(deps);
  while (domains.some((domain) => questions(domain) === 0)) await new Promise(setImmediate);
  await deps.db.run(
    sql`DELETE FROM organizations WHERE id IN (SELECT organization_id FROM domains)`,
  );
  assert.equal(await checking, 2);
  assert.deepEqual(await states(), []);
});
