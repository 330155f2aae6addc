import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newDirectory } from '../../../test/factories/people/directories.ts';
import type { Resource } from '../../../test/factories/people/directories.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

test('lists are asked for by POST, of people, of groups and of both', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  for (const name of ['a', 'b', 'c']) await own.provision(name, { externalId: 'same' });
  for (const displayName of ['Crew', 'Staff'])
    await own.scim('POST', '/Groups', { displayName, externalId: 'same' });
  const search = async (path: string, body: object) => {
    const answer = await own.scim('POST', `${path}/.search`, {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'],
      ...body,
    });
    assert.equal(answer.status, 200, answer.text);
    const { totalResults, itemsPerPage, Resources } = answer.body;
    assert.equal(itemsPerPage, Resources.length);
    return [
      totalResults,
      ...Resources.map(({ userName, displayName }: Resource) => userName?.[0] ?? displayName),
    ];
  };
  const filter = `userName eq "b@${at}"`;
  for (const [path, body, expected] of [
    ['/Users', {}, [3, 'a', 'b', 'c']],
    ['/Users', { filter, attributes: ['userName'] }, [1, 'b']],
    ['/Users', { startIndex: 2, count: 1, sortBy: 'userName' }, [3, 'b']],
    ['/Groups', { excludedAttributes: ['members'] }, [2, 'Crew', 'Staff']],
    ['', {}, [5, 'a', 'b', 'c', 'Crew', 'Staff']],
    ['', { startIndex: 3, count: 2 }, [5, 'c', 'Crew']],
    ['', { startIndex: 5 }, [5, 'Staff']],
    ['', { startIndex: 6, count: 1 }, [5]],
    ['', { count: 0 }, [5]],
    ['', { filter: 'externalId eq "same"', count: 4 }, [5, 'a', 'b', 'c', 'Crew']],
    ['', { filter }, [1, 'b']],
    ['', { filter: 'meta.resourceType eq "Group"' }, [2, 'Crew', 'Staff']],
    ['', { filter: 'meta.resourceType eq "User" and externalId eq "x"' }, [0]],
  ] as const)
    assert.deepEqual(await search(path, body), expected, `${path} ${JSON.stringify(body)}`);
  const { body } = await own.scim('POST', '/Users/.search', { attributes: ['userName'] });
  assert.deepEqual(Object.keys(body.Resources[0]), ['schemas', 'id', 'userName']);
});

test('a search is refused in the words of SCIM, and sees nothing of others', async () => {
  const [own, other] = [await newDirectory(harness), await newDirectory(harness)];
  await other.provision('ada');
  for (const path of ['/Users/.search', '/Groups/.search', '/.search']) {
    assert.equal((await own.scim('POST', path, {})).body.totalResults, 0);
    assert.equal((await own.scim('POST', path, {}, other.token)).status, 401);
    for (const [body, type] of [
      [{ filter: 'nothing eq "x"' }, 'invalidFilter'],
      [{ filter: 'userName' }, 'invalidFilter'],
      [{ filter: 7 }, 'invalidValue'],
      [{ count: '1' }, 'invalidValue'],
      [{ startIndex: 1.5 }, 'invalidValue'],
      [{ attributes: 'userName' }, 'invalidValue'],
      [{ excludedAttributes: [1] }, 'invalidValue'],
      [[], 'invalidSyntax'],
    ] as const) {
      const answer = await own.scim('POST', path, body);
      assert.deepEqual([answer.status, answer.body.scimType], [400, type], JSON.stringify(body));
    }
  }
});

test('the schemas say what refers to what', async () => {
  const own = await newDirectory(harness);
  const attributesOf = async (type: string) => {
    const path = `/Schemas/urn:ietf:params:scim:schemas:core:2.0:${type}`;
    return (await own.scim('GET', path)).body.attributes as Resource[];
  };
  const part = (all: Resource[], name: string): Resource =>
    all.find((one) => one['name'] === name)!;
  const [people, groups] = [await attributesOf('User'), await attributesOf('Group')];
  for (const [all, name, type] of [
    [groups, 'members', 'User'],
    [people, 'groups', 'Group'],
  ] as const) {
    const reference = part(part(all, name)['subAttributes'], '$ref');
    assert.deepEqual([reference['type'], reference['referenceTypes']], ['reference', [type]]);
  }
  assert.equal(part(people, 'active')['required'], true);
});
