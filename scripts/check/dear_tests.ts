import { posix } from 'node:path';
import { faults } from '../../test/planted/faults.ts';
import { of_all_tests } from './test_reach.ts';
import type { Reach } from './test_reach.ts';
import { partOfTurn } from './turn.ts';

/**
 * A full run includes one of this many parts of each wing's dear files, and the next run another
 * one.
 */
export const turns = 8;
/** The wings: files with stores take turns within the first matching one. */
const wings = [
  /^test\/(?!console)/,
  /^(test\/)?console\/|_browser\.test\.ts$/,
  /^server\/engine\/destinations\//,
  /^server\/(engine|cli|platform|api)\//,
];
/** These always run: the house rules, the user's path and the routes of the console. */
const always = /^test\/(house|main_job|simulation|watchers|console\/routes)\b/;
/** These contain parts of every page of the console. */
const of_all_pages = /^console\/(form|http|page|shell|signed_in|time)\/|^console\/\w+\.tsx?$/;

/** The repository as the choice sees it; `storing` are the files that open stores. */
type Seen = { reach: Reach; storing: Set<string>; changed: string[] };

/**
 * Omits dear test files that are not due. It never omits a file that finds a planted fault or that
 * is beside a changed file, and omits none if a change affects all tests.
 */
export function leaveOutDear(files: string[], turn: number, seen: Seen): string[] {
  if (seen.changed.some((file) => of_all_tests.test(file))) return files;
  const killers = new Set(faults.map(({ killed_by }) => killed_by));
  const parts = Map.groupBy(files, (file) =>
    seen.storing.has(file) && !killers.has(file) && !always.test(file)
      ? wings.find((wing) => wing.test(file))
      : undefined,
  );
  const out = new Set<string>();
  for (const [part, own] of parts) {
    if (part === undefined) continue;
    const chosen = new Set(partOfTurn(own, turns, turn));
    for (const file of own) if (!chosen.has(file) && !isNear(file, seen)) out.add(file);
  }
  return files.filter((file) => !out.has(file));
}

/** True if a changed file is beside the test, below or above it, or if the test imports one. */
function isNear(test: string, { reach, changed }: Seen): boolean {
  const own = posix.dirname(test);
  return changed.some((file) => {
    const folder = posix.dirname(file);
    const isAround = folder.includes('/') && own.startsWith(`${folder}/`);
    const isOfPage = of_all_pages.test(file) && /^(test\/)?console\//.test(test);
    const isImported = reach.get(test)?.includes(file) ?? false;
    return folder === own || folder.startsWith(`${own}/`) || isAround || isOfPage || isImported;
  });
}
