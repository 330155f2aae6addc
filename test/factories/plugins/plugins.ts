import { runInNewContext } from 'node:vm';
import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { putInstalled } from '../../../server/api/plugins/install.ts';
import { contentSha256 } from '../../../server/engine/plugins/packages/content.ts';
import { readManifest } from '../../../server/engine/plugins/packages/manifest.ts';
import type { PluginFiles } from '../../../server/engine/plugins/plugin.ts';
import { preparePlugin } from '../../../server/engine/plugins/prepare.ts';
import type { PreparedPlugin } from '../../../server/engine/plugins/prepare.ts';
import { bundlePackage } from '../../../server/engine/plugins/sandbox/bundle.ts';
import { readExports } from '../../../server/engine/plugins/sandbox/guest/exported.ts';
import { sandboxProgram } from '../../../server/engine/plugins/sandbox/program.ts';
import type { PluginInspection } from '../../../server/engine/plugins/sandbox/sandbox.ts';
import type { Harness, TestOrganization } from '../../harness.ts';

/** The three collections, each with code that serves it and the capabilities of that code. */
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

/** Files of a package for a collection. `manifest` overrides its plugin.json, `files` its files. */
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

/** The plugins prepared in this process, by their files. */
const known = new Map<string, PreparedPlugin>();

/**
 * Adds a plugin of kind `source` with the files, as if they had been sent. It is built here as an
 * install would build it, once in a process for files that only differ in the plugin's name. The
 * activity has no entry for it.
 */
export async function writtenPlugin(
  harness: Harness,
  home: TestOrganization,
  collection: CollectionName = 'pipeline_destinations',
  files: Record<string, string> = packageFiles(collection),
): Promise<{ id: number; url: string }> {
  const base = collectionUrl(home, collection);
  const created = await home.ask('POST', base, { plugin_type: 'source', name: 'Written' });
  const { id } = created.body;
  const text = files['plugin.json'];
  const { name: _name, ...manifest } = JSON.parse(text ?? '{}') as { name?: string };
  const key = JSON.stringify({ ...files, 'plugin.json': text && manifest });
  const like = known.get(key) ?? (await preparedHere(files));
  known.set(key, like);
  const own = {
    manifest: text === undefined ? null : readManifest(files),
    content_sha256: contentSha256(files),
  };
  const prepared = { ...like, files, ...own };
  const request = { caller: { user_id: home.user.id } } as FastifyRequest;
  await harness.deps.db.transaction((tx) =>
    putInstalled(tx, harness.deps, request, {
      id,
      version_id: null,
      prepared,
      latest_tag: null,
    }),
  );
  return { id, url: `${base}${id}/` };
}

/**
 * Prepares the files as an install does, for our own code: the compiler and the code run in this
 * process. The two processes for foreign code take 0.2 s each time.
 */
export async function preparedHere(files: PluginFiles): Promise<PreparedPlugin> {
  // It stops the compiler once, for all concurrent builds.
  await sandboxProgram();
  return preparePlugin(files, null, { inspect: inspectHere }, async (...order) => {
    const bundles = await bundlePackage(...order);
    if ('fault' in bundles) throw new Error(`It does not compile: ${bundles.fault.message}`);
    return bundles;
  });
}

async function inspectHere(code: string): Promise<PluginInspection> {
  const module = { exports: {} };
  const require = (name: string) => {
    throw new Error(`Code that needs ${name} is installed by a request.`);
  };
  runInNewContext(`(function (module, exports, require) {\n${code}\n})`)(
    module,
    module.exports,
    require,
  );
  const { inspection } = readExports(module.exports);
  // As it comes out of the sandbox.
  const { metrics, public_jobs, ...capabilities } = JSON.parse(
    JSON.stringify(inspection),
  ) as typeof inspection;
  return { capabilities, metrics, public_jobs };
}

/**
 * A plugin with its own code that its organization publishes, to which the operator gave the right.
 */
export async function publishedPlugin(
  harness: Harness,
  home: TestOrganization,
  ...more: [collection?: CollectionName, files?: Record<string, string>]
): Promise<{ id: number; url: string }> {
  await setPluginsLevel(harness, home, 9);
  const plugin = await writtenPlugin(harness, home, ...more);
  const { status, text } = await home.ask('PATCH', plugin.url, { is_global: true });
  if (status !== 200) throw new Error(`The plugin was not published: ${text}`);
  return plugin;
}

/** Sets the plugins access level of the organization: 0, 3, 6 or 9. */
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
