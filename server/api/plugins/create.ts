import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import type { CatalogueEntry } from '../../engine/plugins/packages/catalogue.ts';
import { checkPackage } from '../../engine/plugins/packages/content.ts';
import { PluginError } from '../../engine/plugins/plugin.ts';
import { preparePlugin, serviceFault } from '../../engine/plugins/prepare.ts';
import type { PreparedPlugin } from '../../engine/plugins/prepare.ts';
import { beforehand } from '../../platform/http/inner/beforehand.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { invalid } from '../../platform/http/errors.ts';
import { write } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { refuseLong } from './change.ts';
import type { Collection } from './collections.ts';
import { contentChange, pluginEntry } from './entry.ts';
import { fetching, namingFaults } from './faults.ts';
import { placeOf } from './found.ts';
import { putInstalled } from './install.ts';
import { originOf, sealSource } from './origins.ts';
import { PluginCreate } from './schema.ts';
import { findPlugin, insertPlugin, requirePluginsLevel, updatePlugin } from './store.ts';
import type { PluginSource } from './schema.ts';

/** A fetched and checked package, and its origin. */
type Fetched = { source: PluginSource; shown_url: string; prepared: PreparedPlugin };

/**
 * Creates a plugin from a body. Fetches a package before the transaction, so that no lock waits for
 * another server; then stores record and code together. Throws 403, and 400 on `url` or `name` for
 * a package that cannot be fetched or used.
 */
export async function createPlugin(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  collection: Collection,
  catalogue: CatalogueEntry[],
) {
  await requirePluginsLevel(deps.db, request.access, 6);
  const { url, ...fields } = body(request, PluginCreate);
  refuseLong(fields);
  if (fields.is_global === true) await requirePluginsLevel(deps.db, request.access, 9);
  const plugin_type = fields.plugin_type ?? (url === undefined ? 'source' : 'custom');
  const wanted = sourceWanted(
    plugin_type,
    { url, name: fields.name ?? null },
    collection,
    catalogue,
  );
  const fetched =
    wanted === undefined
      ? undefined
      : await fetchPackage(deps, wanted, fields.tag ?? null, collection);
  return write(request, reply, 201, async (tx, record) => {
    const place = placeOf(request, collection);
    const id = await insertPlugin(tx, place, {
      plugin_type,
      url: fetched?.shown_url ?? null,
      created_by: request.caller.user_id,
    });
    if (id === undefined)
      throw invalid(
        wanted!.attr,
        'unique',
        'The organization already has this package: upgrade or delete it.',
      );
    if (fetched === undefined)
      await updatePlugin(tx, id, { config_schema: {}, ...fields, plugin_type });
    else await putFetched(tx, deps, request, id, { ...fetched, is_global: fields.is_global });
    const created = (await findPlugin(tx, place, id))!;
    record(
      pluginEntry(
        collection,
        'installed',
        undefined,
        created,
        fetched === undefined ? [] : contentChange(undefined, fetched.prepared.content_sha256),
      ),
    );
    return created;
  });
}

async function putFetched(
  tx: Transaction,
  deps: Deps,
  request: FastifyRequest,
  id: number,
  { source, prepared, is_global = false }: Fetched & { is_global: boolean | undefined },
): Promise<void> {
  await updatePlugin(tx, id, { is_global, origin: sealSource(deps, id, source) });
  await putInstalled(tx, deps, request, {
    id,
    version_id: null,
    prepared,
    latest_tag: prepared.tag,
  });
}

type Wanted = { source: PluginSource; attr: 'url' | 'name' };

/**
 * Returns the address of a new plugin's package, and the field with it; undefined for a plugin
 * whose code is sent later. Throws 400 if no field has it.
 */
function sourceWanted(
  type: string,
  { url, name }: { url: string | undefined; name: string | null },
  collection: Collection,
  catalogue: CatalogueEntry[],
): Wanted | undefined {
  if (type === 'source' || type === 'inline') return undefined;
  if (type === 'custom') {
    if (url === undefined)
      throw invalid(
        'url',
        'required',
        'Name an npm package, the address of a GitHub or GitLab repository, or the https ' +
          'address of an archive.',
      );
    return { source: { url }, attr: 'url' };
  }
  if (name === null || name === '')
    throw invalid(
      'name',
      'required',
      type === 'local'
        ? 'Name a folder of the plugin directory.'
        : 'Name an entry of the catalogue (repository/).',
    );
  if (type === 'local') return { source: { folder: name }, attr: 'name' };
  const entry = catalogue.find((one) => one.name === name && one.collection === collection.name);
  if (entry === undefined)
    throw invalid(
      'name',
      'invalid_choice',
      `The catalogue has no such entry for ${collection.plural}: repository/ lists them.`,
    );
  return { source: { url: entry.url }, attr: 'name' };
}

function fetchPackage(
  deps: Deps,
  wanted: Wanted,
  tag: string | null,
  collection: Collection,
): Promise<Fetched> {
  return beforehand(['package', wanted, tag, collection.name], {
    run: () => fetchNow(deps, wanted, tag, collection),
    bytesOf: ({ prepared }) => bytesOf(prepared),
  });
}

/** Returns the approximate memory of a package. */
export function bytesOf({ files }: Pick<PreparedPlugin, 'files'>): number {
  return Object.values(files).reduce((sum, text) => sum + text.length, 0);
}

async function fetchNow(
  deps: Deps,
  { source, attr }: Wanted,
  tag: string | null,
  collection: Collection,
): Promise<Fetched> {
  const { origin, prepared } = await fetching(attr, async (signal) => {
    const opened = originOf(deps, source);
    const { files, tag: found } = await opened.fetch(tag, signal);
    return { origin: opened, prepared: { files, tag: found } };
  });
  return {
    source,
    shown_url: origin.shown_url,
    prepared: await prepareServing(deps, attr, collection, prepared),
  };
}

/** Compiles a package and throws 400 on the field if it cannot serve the collection. */
export function prepareServing(
  deps: Deps,
  attr: string,
  collection: Collection,
  { files, tag }: Pick<PreparedPlugin, 'files' | 'tag'>,
): Promise<PreparedPlugin> {
  return namingFaults(attr, async () => {
    checkPackage(files, collection.name);
    const prepared = await preparePlugin(files, tag, deps.sandbox);
    const fault = serviceFault(collection.name, prepared);
    if (fault !== undefined) throw new PluginError('refused', fault);
    return prepared;
  });
}
