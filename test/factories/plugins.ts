import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { putInstalled } from '../../server/api/plugins/install.ts';
import { contentSha256 } from '../../server/engine/plugins/packages/content.ts';
import { readManifest } from '../../server/engine/plugins/packages/manifest.ts';
import type { PreparedPlugin } from '../../server/engine/plugins/prepare.ts';
import { loadVersion } from '../../server/engine/plugins/versions.ts';
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

/** What was compiled in this process, by the files; two processes work for 0.3 s for each. */
const compiled = new Map<string, PreparedPlugin>();

/**
 * A plugin of kind `source` with the files. They are sent, compiled and looked at once in a
 * process: files that differ in the plugin's name alone are then stored with what was found.
 */
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
  const { id } = made.body;
  const url = `${base}${id}/`;
  const { db, secrets } = harness.deps;
  const text = files['plugin.json'];
  const { name: _name, ...manifest } = JSON.parse(text ?? '{}') as { name?: string };
  const key = JSON.stringify({ ...files, 'plugin.json': text && manifest });
  const known = compiled.get(key);
  if (known !== undefined) {
    const own = {
      manifest: text === undefined ? null : readManifest(files),
      content_sha256: contentSha256(files),
    };
    const prepared = { ...known, files, ...own };
    const request = { caller: { user_id: home.user.id } } as FastifyRequest;
    await db.transaction((tx) =>
      putInstalled(tx, harness.deps, request, {
        id,
        version_id: null,
        prepared,
        latest_tag: null,
      }),
    );
    return { id, url };
  }
  const answer = await harness.request('PATCH', `${url}update_source/`, {
    key: home.key,
    body: { source: files },
  });
  if (answer.status !== 200)
    throw new Error(`update_source/ answered ${answer.status}: ${answer.text}`);
  const { id: _id, plugin_id: _plugin_id, ...prepared } = await loadVersion(db, secrets, id);
  compiled.set(key, prepared);
  return { id, url };
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
