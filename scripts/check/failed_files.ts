import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { root } from '../child.ts';

/**
 * Reporter of Node's test runner: writes the path of each file with a failed test, from the
 * repository's folder, one a line. It names the group of a process that died or a hook that failed.
 */
// oxlint-disable-next-line import/no-default-export -- Node's test runner takes a reporter by it.
export default async function* failedFiles(events: AsyncIterable<TestEvent>) {
  const told = new Set<string>();
  for await (const event of events) {
    if (event.type !== 'test:fail') continue;
    const { file, name, details } = event.data;
    const isOfTests = (details.error as { failureType?: string }).failureType === 'subtestsFailed';
    if (isOfTests) continue;
    const path = relative(root, file ?? '');
    const told_path = path === '' || path.startsWith('..') ? name : path;
    if (told.has(told_path)) continue;
    told.add(told_path);
    yield `${told_path}\n`;
  }
}
