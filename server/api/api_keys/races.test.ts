import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../test/harness.ts';
import {
  list_of_keys as list,
  createKey,
  newPerson,
} from '../../../test/factories/people/signed_in.ts';
import { addMember } from '../../../test/factories/people/members.ts';

const rounds = 12;

const harness = shareHarness({ clickhouse: false });

/** A person who is also a member of another organization, whose owner removes them. */
async function newGuest() {
  const [person, host] = [await newPerson(harness), await harness.newOrganization()];
  await addMember(harness.deps, host.organization.id, person.user, 1);
  const remove = () =>
    host.ask('DELETE', `/api/organizations/${host.organization.id}/members/${person.user.uuid}/`);
  return { person, host, remove };
}

test('a key limited to an organization keeps its limits when its person leaves', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { person, host, remove } = await newGuest();
    const [here, there] = [person.organization.id, host.organization.id];
    const { id } = await createKey(person, { scoped_organizations: [here, there] });
    const [changed, removed] = await Promise.all([
      person.ask('PATCH', `${list}${id}/`, { scoped_organizations: [there] }),
      remove(),
    ]);
    assert.equal(removed.status, 204);
    const left = await person.ask('GET', `${list}${id}/`);
    // Either the key opened nothing else and went, or the removal came first and the other
    // organization is no longer theirs to name.
    if (changed.status === 200) assert.equal(left.status, 404, `round ${round}: ${left.text}`);
    else
      assert.deepEqual(
        [changed.body.attr, left.body.scoped_organizations],
        ['scoped_organizations__0', [here]],
      );
  }
});

test('a key created for an organization while its person is removed there is gone', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { person, host, remove } = await newGuest();
    const limits = { label: 'CI', scopes: ['*'], scoped_organizations: [host.organization.id] };
    const [created, removed] = await Promise.all([person.ask('POST', list, limits), remove()]);
    assert.equal(removed.status, 204);
    assert.ok([201, 400].includes(created.status), created.text);
    assert.equal(
      (await person.ask('GET', list)).body.results.filter(
        (key: any) => key.scoped_organizations.length > 0,
      ).length,
      0,
      `round ${round}`,
    );
  }
});

test('the table refuses a limit that names nothing', async () => {
  const { user } = await newPerson(harness);
  await harness.newKey(user, { scoped_organizations: [], scoped_teams: [] });
  for (const limit of ['scoped_organizations', 'scoped_teams'])
    await assert.rejects(
      harness.deps.db.text(
        `UPDATE personal_api_keys SET ${limit} = '{}' WHERE user_id = ${user.id}`,
      ),
      /personal_api_keys_limits/,
    );
});
