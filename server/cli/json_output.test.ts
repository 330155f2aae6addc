import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../test/harness.ts';
import { describedProgram } from './commands.ts';
import { allNodes, commandTree } from './completion/command_tree.ts';
import { listErasures } from './erasures.ts';
import { listKeys } from './people/key.ts';
import { listOrganizations } from './people/organization.ts';
import { listRemovals } from './removals.ts';
import { listUsers } from './people/user.ts';

const harness = shareHarness({ clickhouse: false });

/** Commands that do something and say so in a sentence, or whose output has a form of its own. */
const prints_no_data = [
  'api',
  'completion',
  'drill',
  'erase',
  'import',
  'key create',
  'key revoke',
  'leave',
  'login',
  'logout',
  'mcp',
  'migrate-store',
  'secrets rotate',
  'start',
  'support-bundle',
  'worker',
];

test('every command that prints data prints it as JSON too', () => {
  const without = allNodes(commandTree(describedProgram()))
    .filter(({ words, inner }) => words.length > 0 && inner.length === 0)
    .filter(({ command }) => command.options.every(({ long }) => long !== '--json'))
    .map(({ words }) => words.join(' '))
    .filter((name) => !/^(?:user|organization) (?!list)/.test(name));
  assert.deepEqual(without.toSorted(), prints_no_data, 'Give it --json, or put it into the list.');
});

test('lists of people, keys and removals are JSON with --json, without a secret', async () => {
  const home = await harness.newOrganization();
  const { deps } = harness;
  const json = { json: true };
  const keys = await listKeys(deps, { ...json, email: home.user.email });
  assert.equal(JSON.parse(keys)[0].email, home.user.email);
  assert.ok(!keys.includes(home.key));
  const users = JSON.parse(await listUsers(deps, json)) as { email: string }[];
  assert.ok(users.some(({ email }) => email === home.user.email));
  const organizations = JSON.parse(await listOrganizations(deps, json)) as { id: string }[];
  assert.ok(organizations.some(({ id }) => id === home.organization.id));
  assert.ok(Array.isArray(JSON.parse(await listErasures(deps, json)).erasures));
  assert.ok(Array.isArray(JSON.parse(await listRemovals(deps, json)).projects));
});
