import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import type { PluginFiles } from '../../engine/plugins/plugin.ts';
import type { PreparedPlugin } from '../../engine/plugins/prepare.ts';
import { followSchema } from '../../engine/plugins/follow_schema.ts';
import { findVersion, loadVersion } from '../../engine/plugins/versions.ts';
import type { PluginVersion } from '../../engine/plugins/versions.ts';
import { beforehand } from '../../platform/http/inner/beforehand.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { conflict } from '../../platform/http/errors.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { write } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { changePlugin, refuseLong } from './change.ts';
import type { Collection } from './collections.ts';
import { bytesOf, prepareServing } from './create.ts';
import { differencesOf } from './differences.ts';
import type { Compared } from './differences.ts';
import { contentChange, pluginEntry } from './entry.ts';
import { fetching, loading } from './faults.ts';
import { getOwnPlugin, getPlugin, lockOwnPlugin } from './found.ts';
import { fieldsOfPackage, idleFault, putInstalled } from './install.ts';
import { storedOrigin } from './origins.ts';
import { Upgrade } from './schema.ts';
import type { PluginRow } from './schema.ts';
import { findHiddenPlugin, updatePlugin } from './store.ts';
import type { HiddenPlugin } from './store.ts';

/** A version from an origin, and the newest version that it reports. */
type Fetched = { prepared: PreparedPlugin; latest_tag: string | null; over: string | null };

/**
 * Installs another version, then applies the other fields of the body like PATCH, in one
 * transaction. Fetches, compiles and checks the version before the transaction. A fault is a 400 on
 * `url` and leaves the old version unchanged. Does not install the current version again. Throws
 * 409 if the plugin has changed meanwhile.
 */
export async function upgradePlugin(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  collection: Collection,
) {
  isValidateOnly(request);
  const fetched = await fetchUpgrade(deps, request, collection);
  return write(request, reply, 200, async (tx, record) => {
    const { before, hidden } = await lockOwnPlugin(tx, request, collection);
    const { tag, ...fields } = body(request, Upgrade);
    const present = await findVersion(tx, deps.secrets, before.id);
    // Code that is written through the API has no origin with a newer version.
    const installing =
      fetched !== undefined && isThere(before, present, fetched) ? undefined : fetched;
    let incomplete_configs = 0;
    if (installing !== undefined)
      incomplete_configs = await install(tx, deps, request, {
        before,
        hidden,
        fetched: installing,
      });
    const installed = installing === undefined ? before : await getPlugin(tx, request, collection);
    // A package's tag selects the version to install; for other code it is an ordinary field.
    const sent = hidden.origin === null && tag !== undefined ? { ...fields, tag } : fields;
    const incomplete_now = await changePlugin(tx, deps, request, installed, hidden, sent);
    const after = await getPlugin(tx, request, collection);
    const version = installing?.prepared;
    const entry = pluginEntry(
      collection,
      version === undefined ? 'updated' : 'upgraded',
      before,
      after,
      version === undefined ? [] : contentChange(present?.content_sha256, version.content_sha256),
    );
    record(entry.changes.length === 0 && version === undefined ? 'nothing' : entry);
    const changes = differencesOf(stateOf(before, present), stateOf(after, version ?? present));
    return {
      ...after,
      changes: { ...changes, incomplete_configs: incomplete_now ?? incomplete_configs },
    };
  });
}

/** Returns true if the version is installed and its files are complete. */
function isThere(
  { tag }: PluginRow,
  present: (PluginVersion & { is_whole: boolean }) | undefined,
  { prepared }: Fetched,
): boolean {
  return (
    present?.is_whole === true &&
    present.content_sha256 === prepared.content_sha256 &&
    tag === prepared.tag
  );
}

function install(
  tx: Transaction,
  deps: Deps,
  request: FastifyRequest,
  {
    before,
    hidden,
    fetched: { prepared, latest_tag, over },
  }: { before: PluginRow; hidden: HiddenPlugin; fetched: Fetched },
): Promise<number> {
  if (hidden.version_id !== over)
    throw conflict(
      'The plugin was changed while its new version was fetched: check it and try again.',
    );
  return putInstalled(tx, deps, request, {
    id: before.id,
    version_id: hidden.version_id,
    prepared,
    latest_tag: latest_tag ?? prepared.tag,
  });
}

/**
 * Reverts the last change of code: the earlier version becomes the current one, and the current one
 * the earlier one, so a second rollback reverts the first. Throws 409 without an earlier version,
 * or if that differs from the installed one. Also throws 409 if it cannot serve the collection
 * while a project has the plugin enabled.
 */
export function rollbackPlugin(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  collection: Collection,
) {
  return write(request, reply, 200, async (tx, record) => {
    const { before, hidden } = await lockOwnPlugin(tx, request, collection);
    body(request, NoFields);
    if (hidden.previous_version_id === null) throw conflict('The plugin has no earlier version.');
    const previous = await loading(() =>
      loadVersion(tx, deps.secrets, before.id, 'previous_version_id'),
    );
    const fault = await idleFault(tx, before.id, collection, previous);
    if (fault !== undefined) throw conflict(fault);
    const present = await findVersion(tx, deps.secrets, before.id);
    const told = differencesOf(stateOf(before, present), stateAfter(before, previous));
    await updatePlugin(tx, before.id, {
      ...fieldsOfPackage(previous),
      tag: previous.tag,
      version_id: hidden.previous_version_id,
      previous_version_id: hidden.version_id,
    });
    const incomplete_configs =
      previous.manifest === null
        ? 0
        : await followSchema(tx, deps.secrets, before.id, previous.manifest.config_schema);
    const after = await getPlugin(tx, request, collection);
    record(
      pluginEntry(
        collection,
        'rolled_back',
        before,
        after,
        contentChange(present?.content_sha256, previous.content_sha256),
      ),
    );
    return { ...after, changes: { ...told, incomplete_configs } };
  });
}

/** Returns the wanted version, ready to be installed; undefined for a plugin without an origin. */
async function fetchUpgrade(
  deps: Deps,
  request: FastifyRequest,
  collection: Collection,
): Promise<Fetched | undefined> {
  const { id } = await getOwnPlugin(deps.db, request, collection);
  const { tag, ...fields } = body(request, Upgrade);
  refuseLong(fields);
  const hidden = await findHiddenPlugin(deps.db, id);
  if (hidden === undefined || hidden.origin === null) return undefined;
  const over = hidden.version_id;
  return beforehand(['upgrade', id, over, tag], {
    run: async () => {
      const { latest_tag, found } = await fetching('url', async (signal) => {
        const origin = storedOrigin(deps, id, hidden)!;
        const latest = await origin.findLatest(signal);
        return { latest_tag: latest, found: await origin.fetch(tag ?? latest, signal) };
      });
      const prepared = await prepareServing(deps, 'url', collection, found);
      return { prepared, latest_tag, over };
    },
    bytesOf: ({ prepared }) => bytesOf(prepared),
  });
}

const no_files: PluginFiles = {};

function stateOf(
  { tag, config_schema, capabilities }: PluginRow,
  version: Pick<PluginVersion, 'files'> | undefined,
): Compared {
  return { tag, config_schema, capabilities, files: version?.files ?? no_files };
}

function stateAfter(
  { config_schema }: PluginRow,
  { tag, files, manifest, capabilities }: PreparedPlugin,
): Compared {
  return {
    tag,
    files,
    capabilities,
    config_schema: manifest === null ? config_schema : manifest.config_schema,
  };
}
