import assert from 'node:assert/strict';
import type { Harness, TestOrganization } from '../../harness.ts';

/** The path where a person manages their keys. */
export const list_of_keys = '/api/personal_api_keys/';

/** A person in their own organization, who uses a signed-in browser. */
export type Person = TestOrganization;

/** Creates a person, the owner of a fresh organization, and signs them in. */
export async function newPerson(harness: Harness): Promise<Person> {
  const home = await harness.newOrganization();
  const cookie = await harness.newSession(home.user);
  const ask: Person['ask'] = (method, path, body, headers = {}) =>
    harness.request(method, path, {
      headers: { cookie, ...headers },
      body,
    });
  return { ...home, ask };
}

/** Creates a key in the person's browser and returns the answer, with the key in `value`. */
export async function createKey(
  person: Person,
  fields: Record<string, unknown> = {},
): Promise<Record<string, any>> {
  const answer = await person.ask('POST', list_of_keys, {
    label: 'CI',
    scopes: ['project:read'],
    ...fields,
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}
