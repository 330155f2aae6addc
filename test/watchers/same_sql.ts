import assert from 'node:assert/strict';

/** Fails unless the statements are the same, whatever blanks and line breaks part their words. */
export function assertSameSql(found: unknown, wanted: unknown): void {
  const flat = (value: unknown) => JSON.stringify(value).replaceAll(/(?:\\n|\s)+/g, ' ');
  assert.equal(flat(found), flat(wanted));
}
