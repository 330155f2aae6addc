import assert from 'node:assert/strict';

/** Fails unless the statements are equal except for white space. */
export function assertSameSql(found: unknown, wanted: unknown): void {
  const flat = (value: unknown) => JSON.stringify(value).replaceAll(/(?:\\n|\s)+/g, ' ');
  assert.equal(flat(found), flat(wanted));
}
