import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { inDepth } from '../../../test/depth.ts';
import { openTestStores } from '../../../test/harness_stores.ts';
import type { TestStores } from '../../../test/harness_stores.ts';
import { countProcessorTime } from '../../../test/processor_time.ts';
import {
  hostile_loads,
  hostile_meanings,
  largeLoads,
} from '../../../test/query_cases/hostile_harmless.ts';
import { refused_reach } from '../../../test/query_cases/hostile_reach.ts';
import { refused_sizes, refused_tricks } from '../../../test/query_cases/hostile_tricks.ts';
import { assertAnswers, assertOnlyOwnRows } from '../../../test/query_cases/only_own_rows.ts';
import {
  checkInTurn,
  checkQuery,
  forEachOf,
  inTurn,
  printQuery,
} from '../../../test/query_cases/run_query.ts';
import { january, openTwoProjects } from '../../../test/query_cases/two_projects.ts';
import type { TwoProjects } from '../../../test/query_cases/two_projects.ts';
import { QueryError } from './query_error.ts';

/**
 * The most time for any query with its checks, over both stores. Its own limit is three seconds.
 */
const longest_ms = 60_000;
/** A third of the queries run; all are read and printed. */
const isRun = inTurn(inDepth(3, 1));
/** The check of each query before it runs: whole for a quarter of them, else only printed. */
const check = checkInTurn(inDepth(4, 1));
const loads = [...hostile_loads, ...largeLoads(inDepth)];

let stores: TestStores;
let projects: TwoProjects;
before(async () => {
  stores = await openTestStores({ clickhouse: 'own' });
  projects = await openTwoProjects(stores.clickhouse_url);
});
after(async () => {
  await projects?.close();
  await stores?.close();
});

test('at least 300 hostile texts are tried, each once', () => {
  const all = [
    ...refused_reach,
    ...refused_tricks,
    ...refused_sizes,
    ...hostile_meanings,
    ...loads,
  ];
  assert.ok(all.length >= 300);
  assert.equal(new Set(all).size, all.length);
});

for (const [title, texts] of Object.entries({
  'what is not the project’s': refused_reach,
  'what misleads': refused_tricks,
  'what is too deep or too long': refused_sizes,
})) {
  test(`${title} is refused with line and column, in a moment`, async () => {
    for (const text of texts) {
      const worked_ms = countProcessorTime();
      const error: unknown = await checkQuery(projects.both, text, 'events', january).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof QueryError, `${text.slice(0, 200)} gave ${String(error)}`);
      const [{ line, column, message }] = error.faults;
      assert.ok(line >= 1 && column >= 1 && /[.?`)]$/.test(message), message);
      assert.ok(worked_ms() < 1_000, text.slice(0, 200));
    }
  });
}

/** Returns whether it is this text's turn to run; otherwise prints it, or sees it refused. */
function isRunOrPrinted(text: string): boolean {
  if (isRun()) return true;
  try {
    printQuery(text, 'events', january);
  } catch (error) {
    assert.ok(error instanceof QueryError, `${text.slice(0, 200)} gave ${String(error)}`);
  }
  return false;
}

test('queries that play with meanings see no other project, and the store survives', async () => {
  const run = hostile_meanings.filter(isRunOrPrinted);
  await forEachOf(run, (text) => assertOnlyOwnRows(projects, text, check));
  await assertAnswers(projects);
});

test('costly queries end in time, see no other project, and the store survives', async () => {
  for (const text of loads.filter(isRunOrPrinted)) {
    const began = performance.now();
    await assertOnlyOwnRows(projects, text, check);
    await assertAnswers(projects);
    assert.ok(
      performance.now() - began < longest_ms,
      `${performance.now() - began} ms: ${text.slice(0, 200)}`,
    );
  }
});
