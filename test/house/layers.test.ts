import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { listImports, listSourceFiles, root } from './source_files.ts';

/**
 * A layer: the files that belong to it, what they may import besides their own, and a sentence for
 * whoever breaks the rule. `$1` is what `files` captured.
 */
type Layer = { files: RegExp; may_import: RegExp[]; may_take_types_of: RegExp[]; advice: string };

// The first layer whose pattern fits a file is the file's layer.
const layers: Layer[] = [
  {
    files: /^console\/(?:http|time|page|form)\//,
    may_import: [/^console\/(?:http|time|page|form)\//, /^console\/operations\.ts$/],
    may_take_types_of: [/^server\/platform\/http\/errors\.ts$/],
    advice: 'What pages are made of knows no noun: give it what it needs as properties.',
  },
  {
    files: /^console\//,
    may_import: [/^console\//],
    may_take_types_of: [
      /^server\/api\/(?:\w+\/)+schema\.ts$/,
      /^server\/platform\/http\/(?:errors|caller\/scopes)\.ts$/,
    ],
    advice:
      'The console knows the server by its API alone: take types of a schema.ts with `import ' +
      'type`, and ask for values.',
  },
  {
    files: /^server\/platform\//,
    may_import: [/^server\/platform\//],
    may_take_types_of: [],
    advice: 'server/platform knows none of our nouns: pass what it needs as a parameter.',
  },
  {
    files:
      /^server\/engine\/destinations\/(?!(?:contents|formats|lake|object_store|sql_tables)\/)(\w+)\//,
    may_import: [
      /^server\/engine\/destinations\/$1\//,
      /^server\/engine\/model\/(?:destination|lake_catalog)\//,
      /^server\/engine\/destinations\/formats\//,
      /^server\/engine\/destinations\/lake\//,
      /^server\/engine\/destinations\/object_store\//,
      /^server\/engine\/destinations\/sql_tables\//,
      /^server\/platform\//,
    ],
    may_take_types_of: [/^server\/engine\/model\/models\/column\.ts$/],
    advice:
      'A destination knows only the contract in engine/model/destination, the shared formats, ' +
      'object_store and sql_tables, and platform: what it needs of a run is in `Delivery`.',
  },
  {
    files: /^server\/engine\/destinations\/sql_tables\//,
    may_import: [
      /^server\/engine\/destinations\/sql_tables\//,
      /^server\/engine\/destinations\/contents\//,
      /^server\/engine\/model\/destination\//,
      /^server\/platform\//,
    ],
    may_take_types_of: [],
    advice:
      'What destinations of tables share is a part of destinations: it knows what they know ' +
      'and none of them.',
  },
  {
    files: /^server\/engine\/destinations\/object_store\//,
    may_import: [
      /^server\/engine\/destinations\/object_store\//,
      /^server\/engine\/model\/destination\//,
      /^server\/engine\/destinations\/formats\//,
      /^server\/platform\//,
    ],
    may_take_types_of: [/^server\/engine\/destinations\/lake\//],
    advice:
      'What object stores share is a part of destinations: it knows what they know and none ' +
      'of them.',
  },
  {
    files: /^server\/engine\/destinations\/index\.ts$/,
    may_import: [/^server\/engine\/model\/destination\//, /^server\/engine\/destinations\/\w+\//],
    may_take_types_of: [],
    advice: 'The list of destinations holds one line for each and nothing else.',
  },
  {
    files: /^server\/engine\//,
    may_import: [
      /^server\/engine\/(?!destinations\/(?!(?:contents|formats|lake|object_store|sql_tables)\/))/,
      /^server\/engine\/destinations\/index\.ts$/,
      /^server\/platform\//,
    ],
    may_take_types_of: [],
    advice:
      'The engine knows no HTTP, no settings and no single destination: it finds destinations ' +
      'through the list and gets the rest passed in.',
  },
  {
    files: /^server\/api\/index\.ts$/,
    may_import: [/^server\/api\/\w+\/routes\.ts$/],
    may_take_types_of: [/^server\/deps\.ts$/],
    advice: 'The list of slices holds one line for each and nothing else.',
  },
  {
    files: /^server\/api\/(\w+)\//,
    may_import: [
      /^server\/api\/$1\//,
      /^server\/api\/\w+\/(?:\w+\/)?(schema|store)\.ts$/,
      /^server\/engine\//,
      /^server\/platform\//,
    ],
    may_take_types_of: [/^server\/deps\.ts$/],
    advice:
      'A slice imports engine, platform and the schema.ts and store.ts of a noun below it: move ' +
      'what both need there, or into the engine.',
  },
  {
    files: /^server\//,
    may_import: [/^server\//],
    may_take_types_of: [],
    advice: 'The server never imports tests, scripts or benches.',
  },
];
const test_harness = /^test\//;

const files = listSourceFiles();

function isAllowed(pattern: RegExp, target: string, captured: string | undefined): boolean {
  return new RegExp(pattern.source.replace('$1', captured ?? '')).test(target);
}

function violationsOf(path: string, imports: { module: string; is_type: boolean }[]): string[] {
  const layer = layers.find(({ files: pattern }) => pattern.test(path));
  if (layer === undefined) return [];
  const captured = layer.files.exec(path)?.[1];
  // A test may build what it tests on the harness and look at anything of the server.
  const allowed = path.endsWith('.test.ts')
    ? [test_harness, /^server\//, /^console\//]
    : layer.may_import;
  return imports
    .filter(({ module }) => module.startsWith('.'))
    .map(({ module, is_type }) => ({
      target: posix.join(posix.dirname(path), module),
      patterns: is_type ? [...allowed, ...layer.may_take_types_of] : allowed,
    }))
    .filter(
      ({ target, patterns }) => !patterns.some((pattern) => isAllowed(pattern, target, captured)),
    )
    .map(({ target }) => `${path} imports ${target}. ${layer.advice}`);
}

test('imports go one way: console -> (HTTP) -> api -> engine -> platform', () => {
  assert.deepEqual(
    files.flatMap((file) => violationsOf(file.path, listImports(file))),
    [],
  );
});

test('every import names a file that exists, with its extension', () => {
  const broken = files.flatMap((file) =>
    listImports(file)
      .filter(
        ({ module }) =>
          module.startsWith('.') && !existsSync(join(root, posix.dirname(file.path), module)),
      )
      .map(
        ({ module }) =>
          `${file.path} imports ${module}, which does not exist: write the path with its ` +
          'extension (.ts).',
      ),
  );
  assert.deepEqual(broken, []);
});

test('the rule itself: what each layer is refused', () => {
  const refused: [string, string][] = [
    ['server/platform/http/caller/auth.ts', '../../../engine/exports/runs/runs.ts'],
    ['server/platform/http/caller/auth.ts', '../../../config/config.ts'],
    ['server/engine/exports/planning/plan.ts', '../../../api/organizations/store.ts'],
    ['server/engine/exports/planning/plan.ts', '../../destinations/file/file.ts'],
    ['server/engine/destinations/file/file.ts', '../noop/noop.ts'],
    ['server/engine/destinations/file/file.ts', '../../exports/runs/runs.ts'],
    ['server/api/organizations/routes.ts', '../projects/routes.ts'],
    ['server/api/organizations/routes.ts', '../../deps.ts'],
    ['server/cli/start.ts', '../../test/harness.ts'],
    ['server/app.ts', '../scripts/check/check.ts'],
    ['server/app.ts', '../console/router.ts'],
    ['console/api_keys/scope_names.ts', '../../server/platform/http/caller/scopes.ts'],
    ['console/http/list.ts', '../projects/project.ts'],
  ];
  for (const [path, module] of refused)
    assert.equal(
      violationsOf(path, [{ module, is_type: false }]).length,
      1,
      `${path} must not import ${module}`,
    );
  const allowed: [string, string, boolean][] = [
    ['server/engine/destinations/file/file.ts', '../../model/destination/destination.ts', false],
    ['server/engine/destinations/file/file.ts', './naming.ts', false],
    ['server/api/organizations/store.ts', '../projects/store.ts', false],
    ['server/api/organizations/routes.ts', '../../deps.ts', true],
    ['console/signed_in/account.ts', '../../server/api/users/schema.ts', true],
    ['server/engine/exports/runs/progress.test.ts', '../../../test/harness.ts', false],
  ];
  for (const [path, module, is_type] of allowed)
    assert.deepEqual(violationsOf(path, [{ module, is_type }]), []);
});

test('commands open the analytics store with its cluster', () => {
  // migrate-store opens one that has none, and another one.
  const others = /^server\/(?:platform\/clickhouse|cli\/migrate_store)\//;
  const openers = listSourceFiles()
    .filter(({ path, text }) => path.startsWith('server/') && text.includes(' openClickHouse('))
    .map(({ path }) => path)
    .filter((path) => !path.endsWith('.test.ts') && !others.test(path));
  assert.deepEqual(
    openers,
    ['server/cli/stores/analytics_store.ts'],
    'Open it by openAnalytics or openAnalyticsAsIs: without its cluster one replica is asked.',
  );
});
