import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { listImports, listSourceFiles, root } from './source_files.ts';

/**
 * The doors of the engine, the uppermost first, and the parts behind each in the same order: a part
 * imports only what stands below it, values and types alike. ARCHITECTURE.md tells what they are.
 */
const engine_doors: Record<string, string[]> = {
  privacy: ['erasures', 'retention'],
  plugins: [],
  exports: [
    'reconcile',
    'workers',
    'verification',
    'delivery',
    'runs',
    'health',
    'planning',
    'source',
    'lake_maintenance',
    'lake_places',
    'engine.ts',
  ],
  notices: [],
  ingest: ['catalogue', 'identities', 'warnings'],
  query: [],
  destinations: ['object_store', 'lake', 'formats', 'sql_tables', 'contents'],
  model: [
    'removals',
    'run.ts',
    'run_log.ts',
    'destination',
    'schema',
    'models',
    'ledger',
    'lake_catalog',
  ],
};
const engine_order = Object.entries(engine_doors).flatMap(([door, parts]) => [
  door,
  ...parts.map((part) => `${door}/${part}`),
]);

/** The part of the engine that a path of the repository belongs to; undefined outside of it. */
function enginePart(path: string): string | undefined {
  const inside = /^server\/engine\/(\w+)(?:\/([\w.]+))?/.exec(path);
  if (inside === null) return undefined;
  const [, door, part] = inside;
  return engine_doors[door!]?.includes(part!) === true ? `${door}/${part}` : door;
}

/**
 * The nouns of the API, the uppermost first: one imports only those below it, values and types
 * alike, and of them their schema.ts and store.ts. ARCHITECTURE.md tells the same order.
 */
const api_order = [
  'console mcp reference instance configuration',
  'site_apps plugin_configs oauth_applications plugins',
  'notice_deliveries notice_targets file_downloads iceberg lake_tables',
  'batch_exports destinations',
  'erasures retention query',
  'schema_columns event_catalogue capture events ingestion_warnings planned_events',
  'ingestion_rules write_keys',
  'scim single_sign_on invites account members sessions',
  'security security_events activity service_keys domains organizations projects',
  'api_keys passkeys users deactivation managed',
].flatMap((line) => line.split(' '));

/** The noun that a path of the repository belongs to; undefined outside of `server/api`. */
function nounOf(path: string): string | undefined {
  return /^server\/api\/(\w+)\//.exec(path)?.[1];
}

/** The folders of the console, the uppermost first, below the list of pages. */
const console_order = [
  'users security plugins notice_targets members invites',
  'event_catalogue events planned_events ingestion_rules file_downloads erasures domains',
  'batch_exports lake_tables queries connections destinations',
  'api_keys activity organizations projects write_keys configuration',
  'security_events sessions shell',
  'single_sign_on passkeys signed_in',
  'form page time http',
].flatMap((line) => line.split(' '));

/** The folder of the console that a path of the repository belongs to; undefined outside of it. */
function consoleFolderOf(path: string): string | undefined {
  return /^console\/(\w+)\//.exec(path)?.[1];
}

/** Parts in their order, the uppermost first, and which of them a path belongs to. */
type Order = { parts: string[]; partOf(path: string): string | undefined };

const orders: Record<string, Order> = {
  engine_doors: { parts: engine_order, partOf: enginePart },
  api_order: { parts: api_order, partOf: nounOf },
  console_order: { parts: console_order, partOf: consoleFolderOf },
};

function upwardsIn(path: string, imports: { module: string }[]): string[] {
  if (path.endsWith('.test.ts')) return [];
  const targets = imports
    .filter(({ module }) => module.startsWith('.'))
    .map(({ module }) => posix.join(posix.dirname(path), module));
  return Object.values(orders).flatMap(({ parts, partOf }) => {
    const from = partOf(path);
    if (from === undefined) return [];
    return targets
      .filter((target) => {
        const to = partOf(target);
        return to !== undefined && parts.indexOf(to) < parts.indexOf(from);
      })
      .map(
        (target) => `${path} imports ${target}, which stands above it: move what both need down.`,
      );
  });
}

const files = listSourceFiles();

test('parts of engine, API and console import downwards only', () => {
  for (const [name, { parts, partOf }] of Object.entries(orders)) {
    const unlisted = files
      .map(({ path }) => partOf(path))
      .filter((part) => part !== undefined && !parts.includes(part));
    assert.deepEqual(unlisted, [], `Give these parts their place in \`${name}\`.`);
  }
  assert.deepEqual(
    files.flatMap((file) => upwardsIn(file.path, listImports(file))),
    [],
  );
});

test('ARCHITECTURE.md tells the orders', () => {
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').replaceAll(/\s+/g, ' ');
  const engine = [Object.keys(engine_doors), ...Object.values(engine_doors)];
  for (const order of [...engine, api_order, console_order]) {
    const line = order.join(' -> ');
    assert.ok(page.includes(line), `Write the order into its folders as: ${line}.`);
  }
});

test('the rule itself: what is above and what below', () => {
  const upwards: [string, string, number][] = [
    ['server/engine/model/ledger/rectangles.ts', '../run.ts', 1],
    ['server/engine/exports/runs/progress.ts', '../workers/claims.ts', 1],
    ['server/engine/exports/runs/progress.ts', '../../model/run.ts', 0],
    ['server/engine/exports/runs/progress.ts', './receipt.ts', 0],
    ['server/engine/exports/runs/progress.test.ts', '../workers/claims.ts', 0],
    ['server/api/projects/store.ts', '../members/schema.ts', 1],
    ['server/api/members/store.ts', '../projects/schema.ts', 0],
    ['console/signed_in/account.ts', '../users/account_page.tsx', 1],
    ['console/users/account_page.tsx', '../signed_in/account.ts', 0],
  ];
  for (const [path, module, count] of upwards)
    assert.equal(upwardsIn(path, [{ module }]).length, count, `${path} imports ${module}`);
});
