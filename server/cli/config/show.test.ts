import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '../../api/configuration/schema.ts';
import { planLines, planMarkdown } from './show.ts';

test('the plan always lists left out sections, and objects to look at', () => {
  const none = { create: 0, change: 0, move: 0, adopt: 0, delete: 0, unchanged: 2 };
  const plan: Plan = {
    hash: 'a hash of a plan',
    source: { name: 'default', commit: null },
    prune: false,
    people: false,
    is_empty: true,
    summary: none,
    steps: [],
    drift: [],
    needs: [],
    left: [],
    notes: [{ code: 'was_not_found', kind: 'project', path: 'projects.web.was', detail: 'Look.' }],
    left_out: ['members', 'invites'],
    created_at: '2026-01-01T00:00:00Z',
    expires_at: '2026-01-01T01:00:00Z',
  };
  const left = ['members: left out, use --people', 'invites: left out, use --people'];
  assert.deepEqual(planLines(plan), [
    '* projects.web.was: Look.',
    ...left.map((line) => `. ${line}`),
    'nothing to do, 2 unchanged.',
  ]);
  for (const line of left) assert.ok(planMarkdown(plan).includes(`\n- ${line}\n`));
  assert.match(planMarkdown(plan), /To look at[^]*projects.web.was<.code>: Look/);
  const one = { kind: 'project' as const, path: 'projects.app', id: null, name: null };
  const stays = { ...one, detail: 'It stays.' };
  assert.equal(planLines({ ...plan, left: [stays] })[0], '. projects.app: It stays.');
  const { left_out: _none, notes: _neither, ...of_before } = plan;
  assert.deepEqual(planLines(of_before as Plan), ['nothing to do, 2 unchanged.']);
});
