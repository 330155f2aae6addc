import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { domainsPath } from '../../../../test/factories/people/domains.ts';
import { openHarness } from '../../../../test/harness.ts';

const harness = aroundTests(() =>
  openHarness({ clickhouse: false, config: { rate_limit_per_minute: 50 } }),
);

const open = (remoteAddress: string, token: string) =>
  harness.app.inject({
    method: 'POST',
    url: '/api/setup_links/open/',
    remoteAddress,
    payload: { token },
  });

test('whoever guesses tokens has to wait, and a link has the limit of a key', async () => {
  const home = await harness.newOrganization();
  const cookie = await harness.newSession(home.user);
  const { body: domain } = await home.ask('POST', domainsPath(home), { domain: 'guess.test' });
  const links = `${domainsPath(home, domain)}setup_links/`;
  const { body } = await harness.request('POST', links, {
    headers: { cookie },
    body: { name: 'Robin' },
  });
  const token = body.url.split('#')[1];
  const guessed = new Set<number>();
  for (let count = 0; count < 202; count += 1)
    guessed.add((await open('198.51.100.7', `sll_${String(count).padStart(43, '0')}`)).statusCode);
  assert.deepEqual([...guessed], [404, 429]);
  const used: number[] = [];
  for (let count = 0; count < 51; count += 1)
    used.push((await open('198.51.100.8', token)).statusCode);
  assert.deepEqual([used[0], used.at(-1)], [200, 429]);
});
