import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { withRoutes } from '../../scripts/docs/openapi_document.ts';
import { operationsOf, operationsText } from '../../scripts/docs/operations_text.ts';
import { listSourceFiles, root } from './source_files.ts';

const operations_file = 'console/operations.ts';

test('the types of the paths are those of the routes', async () => {
  assert.ok(
    readFileSync(join(root, operations_file), 'utf8') ===
      (await operationsText(await withRoutes(operationsOf))),
    `Run \`npm run docs:operations\` and commit ${operations_file}.`,
  );
});

/** A route may stand in a type, in a call of `pathTo`, and in a constant that goes there. */
const route_place = /(?:\bpathTo\(|\b(?:const|type) \w+ =|<[\w', ]*)\s*$/;

/** The paths in the text of a file of the console that no type knows. */
function barePaths(text: string): string[] {
  return [...text.matchAll(/['"`](\/api\/[\w@$:][^'"`]*)['"`]/g)]
    .filter(({ index }) => !route_place.test(text.slice(0, index)))
    .map(([, path]) => path!);
}

test('the console asks for no path that its types do not know', () => {
  const files = listSourceFiles().filter(
    ({ path }) =>
      path.startsWith('console/') && !path.endsWith('.test.ts') && path !== operations_file,
  );
  assert.deepEqual(
    files.flatMap(({ path, text }) => barePaths(text).map((bare) => `${path}: ${bare}`)),
    [],
    'Fill the route in by `pathTo`, which encodes what stands in a path.',
  );
  assert.deepEqual(
    files.filter(({ code }) => /\bas Path\b/.test(code)).map(({ path }) => path),
    ['console/form/sending.ts', 'console/http/path.ts'],
    'Only `pathTo` makes a path.',
  );
  for (const bare of ["ask('GET', '/api/users/@me/')", '<a href={`/api/projects/${id}/`}>'])
    assert.equal(barePaths(bare).length, 1, bare);
  for (const typed of ["pathTo(\n  '/api/users/@me/')", "Query<'/api/users/@me/'>"])
    assert.equal(barePaths(typed).length, 0, typed);
});
