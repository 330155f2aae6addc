import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inDepth } from '../../../test/depth.ts';
import { any_character } from '../../../test/factories/any_character.ts';
import { openAroundTests, projects } from '../../../test/factories/batch_exports/query_projects.ts';
import { random_query } from '../../../test/query_cases/random_query.ts';
import { random_expression, random_select } from '../../../test/query_cases/random_tree.ts';
import { withoutSpans } from '../../../test/query_cases/without_spans.ts';
import {
  checkQuery,
  forEachOf,
  printQuery,
  readRows,
} from '../../../test/query_cases/run_query.ts';
import { foreign_mark, january } from '../../../test/query_cases/two_projects.ts';
import { parse } from './parse/parse.ts';
import { printSelect } from './parse/print.ts';
import { QueryError } from './query_error.ts';
import { resolveQuery } from './query.ts';
import type { Select, SelectCore } from './parse/tree.ts';

openAroundTests();

/** Asserts that the printed text is read as the same tree, and printed the same again. */
function assertStable(select: Select): void {
  const text = printSelect(select);
  const read = parse(text).select;
  assert.deepEqual(withoutSpans(read), withoutSpans(select), text);
  assert.equal(printSelect(read), text);
}

test('any tree is printed as text that is read as the same tree and printed the same again', () => {
  fc.assert(fc.property(random_select, assertStable), { numRuns: inDepth(100, 5_000) });
});

test('any expression likewise', () => {
  const base = parse('SELECT 1').select as SelectCore;
  fc.assert(
    fc.property(random_expression, (expression) =>
      assertStable({ ...base, items: [{ expression }] }),
    ),
    { numRuns: inDepth(250, 20_000) },
  );
});

test('any text is read, or refused with line and column', () => {
  const pieces = fc.constantFrom(
    ...(
      'SELECT|FROM|events|(|)|,|*|.|\'|"|`|1|x|=|AND|NOT|IN|->|::|[|]|--|/*|;|\\|{|😀|\n|WITH|AS|CASE|END|OVER|INTERVAL|' +
      'UNION ALL|??|EXCEPT|IGNORE NULLS'
    ).split('|'),
  );
  const text = fc.oneof(
    fc.string({ unit: any_character, maxLength: 40 }),
    fc.array(pieces, { maxLength: 25 }).map((parts) => `SELECT ${parts.join(' ')}`),
  );
  fc.assert(
    fc.property(text, (query) => {
      try {
        resolveQuery(query, { model: 'events' });
      } catch (error) {
        assert.ok(error instanceof QueryError, String(error));
        assert.ok(error.faults.every(({ line, column }) => line >= 1 && column >= 1));
      }
    }),
    { numRuns: inDepth(600, 50_000) },
  );
});

test('random queries reveal nothing of another project, and repeat', async () => {
  const numRuns = inDepth(12, 800);
  let run = 0;
  await forEachOf(fc.sample(random_query, { numRuns, seed: 20_240_101 }), async (text) => {
    const checked = await checkQuery(projects.both, text, 'events', january).catch(
      (error: unknown) => {
        assert.ok(error instanceof QueryError, `${text} gave ${String(error)}`);
      },
    );
    if (checked === undefined) return;
    run += 1;
    const rows = await readRows(projects.both, checked);
    assert.doesNotMatch(JSON.stringify(rows), foreign_mark, text);
    assert.deepEqual(
      rows,
      await readRows(projects.alone, printQuery(text, 'events', january)),
      text,
    );
  });
  assert.ok(run > numRuns / 2, `${run} of ${numRuns} ran`);
});
