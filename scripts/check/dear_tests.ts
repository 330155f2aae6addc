import { posix } from 'node:path';
import { faults } from '../../test/planted/faults.ts';
import { of_all_tests } from './test_reach.ts';
import type { Reach } from './test_reach.ts';
import { partOfTurn } from './turn.ts';

/** A run of all has one of this many parts of each wing's dear files, another in the next run. */
export const turns = 8;
/** The wings: files with stores take turns within the first one that fits. */
const wings = [
  /^test\/(?!console)/,
  /^(test\/)?console\/|_browser\.test\.ts$/,
  /^server\/engine\/destinations\//,
  /^server\/(engine|cli|platform|api)\//,
];
/** These run each time: the rules of the house, the user's path and the routes of the console. */
const always = /^test\/(house|main_job|simulation|watchers|console\/routes)\b/;
/** Every page of the console has parts of these. */
const of_all_pages = /^console\/(form|http|page|shell|signed_in|time)\/|^console\/\w+\.tsx?$/;

/** The repository as the choice sees it; `storing` are the files that open stores. */
type Seen = { reach: Reach; storing: Set<string>; changed: string[] };

/**
 * Leaves out dear test files whose turn it is not. A file that finds a planted fault is never left
 * out, nor is one beside a changed file, nor any where a change is of all tests.
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

/** Lies a changed file beside the test, below it or around it, or does the test import one? */
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
