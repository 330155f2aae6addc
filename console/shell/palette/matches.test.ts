import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import { matching, rankOf } from './matches.ts';
import type { Named } from './matches.ts';

// The build draws icons. Node has no modules of theirs, and the names of pages need none.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.startsWith('icon:')
      ? { url: 'data:text/javascript,export default null', shortCircuit: true }
      : next(specifier, context),
});

test('a text fits by its beginning, by words, by any part, or not', () => {
  const cases: [string, string, number | undefined][] = [
    ['Project settings', '', 0],
    ['Project settings', 'proj', 0],
    ['Project settings', ' PROJECT S ', 0],
    ['Project settings', 'set', 1],
    ['Project settings', 'set pro', 1],
    ['Project settings', 'tings', 2],
    ['Project settings', 'tings pro', 2],
    ['Project settings', 'export', undefined],
    ['Project settings', 'pro export', undefined],
    ['A <b>', '<b', 1],
  ];
  for (const [text, typed, rank] of cases) assert.equal(rankOf(text, typed), rank, typed);
});

test('the best come first, equals keep their order', () => {
  const items = ['Reset', 'Settings', 'Project settings', 'Set up', 'Exports'];
  assert.deepEqual(
    matching(
      items.map((label) => ({ label })),
      'set',
    ).map(({ label }) => label),
    ['Settings', 'Set up', 'Project settings', 'Reset'],
  );
});

test('matches by another word come after matches by name', () => {
  const items: Named[] = [
    { label: 'Account', also: ['API key', 'password', 'session'] },
    { label: 'Keys of the house' },
    { label: 'Members', also: ['invite'] },
  ];
  const labels = (typed: string) => matching(items, typed).map(({ label }) => label);
  assert.deepEqual(labels('key'), ['Keys of the house', 'Account']);
  assert.deepEqual(labels('api key'), ['Account']);
  assert.deepEqual(labels('Invite'), ['Members']);
  assert.equal(matching(items, 'key')[1]!.hint, 'API key');
  // The middle of a word that is not shown would be a riddle.
  assert.deepEqual(labels('ssword'), []);
});

test('pages are found by what people call what is on them', async () => {
  const { account_page, organization_pages, project_pages } = await import('../pages.ts');
  const pages = [...project_pages, ...organization_pages, account_page];
  for (const [typed, label] of [
    ['key', 'Account'],
    ['password', 'Account'],
    ['session', 'Account'],
    ['invite', 'Members'],
    ['sso', 'Domains'],
    ['backfill', 'Exports'],
    ['webhook', 'Notices'],
  ] as const)
    assert.ok(
      matching<Named>(pages, typed).some((page) => page.label === label),
      typed,
    );
});
