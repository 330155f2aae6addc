import assert from 'node:assert/strict';
import { shareHarness } from './harness.ts';
import type { Harness, TestOrganization } from './harness.ts';

/**
 * Returns the server that test files of this process share, without ClickHouse, and an organization
 * of the file on it. As with `shareHarness`, `opened` creates the records that the file's tests
 * need.
 */
export function shareHome(opened?: () => Promise<unknown>): {
  harness: Harness;
  home: TestOrganization;
} {
  let own: TestOrganization | undefined;
  const harness = shareHarness({
    clickhouse: false,
    opened: async () => {
      own = await harness.newOrganization();
      await opened?.();
    },
  });
  const home = new Proxy({} as TestOrganization, {
    get: (_, key) =>
      Reflect.get(own ?? assert.fail('It is there in the hooks and tests of its file.'), key),
  });
  return { harness, home };
}
