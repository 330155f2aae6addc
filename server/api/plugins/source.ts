import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { checkPackage } from '../../engine/plugins/packages/content.ts';
import { manifest_file } from '../../engine/plugins/packages/manifest.ts';
import type { PluginFiles } from '../../engine/plugins/plugin.ts';
import { preparePlugin } from '../../engine/plugins/prepare.ts';
import type { PreparedPlugin } from '../../engine/plugins/prepare.ts';
import { findVersion, loadVersion } from '../../engine/plugins/versions.ts';
import { beforehand } from '../../platform/http/inner/beforehand.ts';
import { body, jsonBody } from '../../platform/http/bodies/body.ts';
import { conflict, invalid } from '../../platform/http/errors.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { checked } from '../../platform/http/bodies/validator.ts';
import { write } from '../../platform/http/write.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { changePlugin } from './change.ts';
import type { Collection } from './collections.ts';
import { bytesOf } from './create.ts';
import { contentChange, pluginEntry } from './entry.ts';
import { loading, namingFaults } from './faults.ts';
import { getOwnPlugin, getPlugin, lockOwnPlugin } from './found.ts';
import { idleFault, putInstalled } from './install.ts';
import { PluginPatch, SourceChange } from './schema.ts';
import { findHiddenPlugin } from './store.ts';

/** PATCH keeps files that are not sent; PUT removes them. */
type HowToWrite = 'patch' | 'put';

type Written = { prepared: PreparedPlugin; over: string | null };

/**
 * Returns the files of the plugin's current version, empty without code. Throws 409 for files that
 * differ from the installed ones.
 */
export async function sourceOf(deps: Deps, db: Queryable, plugin_id: number): Promise<PluginFiles> {
  const { version_id } = (await findHiddenPlugin(db, plugin_id)) ?? { version_id: null };
  return version_id === null
    ? {}
    : (await loading(() => loadVersion(db, deps.secrets, plugin_id))).files;
}

/**
 * Changes files and fields of a plugin. Compiles and checks the files before the transaction. A
 * fault is a 400 on `source` with file, line and column, and the old version stays. A plugin that
 * some project has enabled must still serve its collection. Throws 409 if the plugin has changed
 * meanwhile.
 */
export async function updateSource(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  collection: Collection,
  how: HowToWrite,
) {
  isValidateOnly(request);
  const written = await prepareWritten(deps, request, collection, how);
  return write(request, reply, 200, async (tx, record) => {
    const { before, hidden } = await lockOwnPlugin(tx, request, collection);
    const sent = body(request, PluginPatch);
    await changePlugin(tx, deps, request, before, hidden, sent);
    const present = await findVersion(tx, deps.secrets, before.id);
    // A stored version that differs from the installed one counts as none, whatever its fields are.
    const stored = present?.is_whole === true ? present.content_sha256 : undefined;
    const isNew = written !== undefined && stored !== written.prepared.content_sha256;
    if (isNew) {
      if (hidden.version_id !== written.over)
        throw conflict('The plugin was changed meanwhile: check its source and try again.');
      const fault = await idleFault(tx, before.id, collection, written.prepared);
      if (fault !== undefined) throw invalid('source', 'invalid_input', fault);
      // The tag is the one of the installed version before the edit, or a name from the client.
      const prepared = { ...written.prepared, tag: sent.tag === undefined ? before.tag : sent.tag };
      await putInstalled(tx, deps, request, {
        id: before.id,
        version_id: hidden.version_id,
        prepared,
        latest_tag: before.latest_tag,
      });
    }
    const after = await getPlugin(tx, request, collection);
    record(
      pluginEntry(
        collection,
        'source_updated',
        before,
        after,
        isNew ? contentChange(stored, written.prepared.content_sha256) : [],
      ),
    );
    return {
      ...after,
      source: isNew ? written.prepared.files : await sourceOf(deps, tx, before.id),
      has_previous_version: (isNew ? hidden.version_id : hidden.previous_version_id) !== null,
    };
  });
}

/** Returns the changed files, compiled; undefined if the body has none. */
async function prepareWritten(
  deps: Deps,
  request: FastifyRequest,
  collection: Collection,
  how: HowToWrite,
): Promise<Written | undefined> {
  const { id } = await getOwnPlugin(deps.db, request, collection);
  const sent = filesSent(request);
  if (sent === undefined && how === 'patch') return undefined;
  if (sent === undefined)
    throw invalid('source', 'required', 'PUT replaces all files: send them, or use PATCH.');
  const over = (await findHiddenPlugin(deps.db, id))?.version_id ?? null;
  const files = merged(how === 'put' ? {} : await sourceOf(deps, deps.db, id), sent);
  const prepared = await beforehand(['source', files, collection.name], {
    run: () =>
      namingFaults('source', async () => {
        // A plugin.json alone is allowed as a start; otherwise the files must form a package.
        if (Object.keys(files).some((name) => name !== manifest_file))
          checkPackage(files, collection.name);
        return preparePlugin(files, null, deps.sandbox);
      }),
    bytesOf,
  });
  return { prepared, over };
}

/**
 * Returns the files of a body: under `source`, and names with a dot at the top level. Undefined if
 * there are none.
 */
function filesSent(request: FastifyRequest): Record<string, string | null> | undefined {
  const { source } = body(request, SourceChange);
  const bare = Object.entries(jsonBody(request) as Record<string, unknown>).filter(([name]) =>
    name.includes('.'),
  );
  if (source === undefined && bare.length === 0) return undefined;
  const { source: named = {} } = checked(SourceChange, { source: Object.fromEntries(bare) });
  return Object.fromEntries([...Object.entries(named), ...Object.entries(source ?? {})]);
}

function merged(before: PluginFiles, sent: Record<string, string | null>): PluginFiles {
  const files = Object.entries(before).filter(([name]) => !Object.hasOwn(sent, name));
  return Object.fromEntries([
    ...files,
    ...Object.entries(sent).filter((entry): entry is [string, string] => entry[1] !== null),
  ]);
}
