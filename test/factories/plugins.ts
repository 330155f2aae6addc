import sql from 'sql-template-tag';
import type { Harness, TestOrganization } from '../harness.ts';

/** The three collections, each with code that serves it and the capabilities that this code has. */
export const served = {
  pipeline_destinations: {
    file: 'index.ts',
    code: 'export function onEvent(event: unknown) { return event; }',
    methods: ['onEvent'],
    scheduled_tasks: [],
  },
  pipeline_frontend_apps: {
    file: 'site.ts',
    code: 'export function inject() { return 1 as number; }',
    methods: [],
    scheduled_tasks: [],
  },
  pipeline_import_apps: {
    file: 'index.ts',
    code: 'export async function runEveryHour(): Promise<void> {}',
    methods: [],
    scheduled_tasks: ['runEveryHour'],
  },
} as const;

type CollectionName = keyof typeof served;

/** The names of the three. */
export const collection_names = Object.keys(served) as CollectionName[];

/**
 * Files of a package that serves a collection; `manifest` is put over what its plugin.json says,
 * `files` over its files.
 */
export function packageFiles(
  collection: CollectionName,
  manifest: Record<string, unknown> = {},
  files: Record<string, string> = {},
): Record<string, string> {
  const { file, code } = served[collection];
  return {
    'plugin.json': JSON.stringify({
      name: 'Made for tests',
      description: 'Does little.',
      ...manifest,
    }),
    [file]: code,
    ...files,
  };
}

/** The address of a collection of the organization. */
export function collectionUrl(
  { organization }: Pick<TestOrganization, 'organization'>,
  collection: CollectionName = 'pipeline_destinations',
): string {
  return `/api/organizations/${organization.id}/${collection}/`;
}

/** A plugin of kind `source` with the files, as the answer of `update_source/` shows it. */
export async function writtenPlugin(
  harness: Harness,
  home: TestOrganization,
  collection: CollectionName = 'pipeline_destinations',
  files: Record<string, string> = packageFiles(collection),
): Promise<{ id: number; url: string }> {
  const base = collectionUrl(home, collection);
  const made = await harness.request('POST', base, {
    key: home.key,
    body: { plugin_type: 'source', name: 'Written' },
  });
  const url = `${base}${made.body.id}/`;
  const answer = await harness.request('PATCH', `${url}update_source/`, {
    key: home.key,
    body: { source: files },
  });
  if (answer.status !== 200)
    throw new Error(`update_source/ answered ${answer.status}: ${answer.text}`);
  return { id: made.body.id, url };
}

/** Sets what the organization may do with plugins: 0, 3, 6 or 9. */
export async function setPluginsLevel(
  { deps }: Harness,
  { organization }: TestOrganization,
  level: 0 | 3 | 6 | 9,
): Promise<void> {
  await deps.db.run(
    sql`UPDATE organizations SET plugins_access_level = ${level}
      WHERE id = ${organization.id}::uuid`,
  );
}
