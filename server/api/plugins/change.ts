import type { FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { followSchema } from '../../engine/plugins/follow_schema.ts';
import { storableFault } from '../../engine/plugins/packages/storable.ts';
import { invalid, invalidMany } from '../../platform/http/errors.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { PluginPatch, PluginRow } from './schema.ts';
import { requirePluginsLevel, updatePlugin } from './store.ts';
import type { HiddenPlugin } from './store.ts';

const json_fields = ['config_schema', 'capabilities', 'metrics', 'public_jobs'] as const;

/** Throws 400 for JSON fields that are too long to be shown in every list. */
export function refuseLong(sent: PluginPatch): void {
  // Other checks refuse texts that cannot be stored and deep values.
  const faults = json_fields.flatMap((attr) => {
    const fault = storableFault(sent[attr]);
    return fault === undefined
      ? []
      : [{ attr, code: 'max_length' as const, detail: `This field ${fault}.` }];
  });
  if (faults.length > 0) throw invalidMany(faults);
}

const written_types: unknown[] = ['source', 'inline'];

/**
 * Applies the sent fields, under the caller's lock. Throws 403 for `is_global` below level 9.
 * Throws 400 for a value that would make the record wrong: another kind of origin, or another
 * version than the installed one. Returns how many enabled configs now lack a setting; undefined if
 * the schema of the settings was not sent.
 */
export async function changePlugin(
  tx: Transaction,
  deps: Deps,
  request: FastifyRequest,
  before: PluginRow,
  hidden: HiddenPlugin,
  sent: PluginPatch,
): Promise<number | undefined> {
  refuseLong(sent);
  if (sent.is_global !== undefined && sent.is_global !== before.is_global)
    await requirePluginsLevel(tx, request.access, 9);
  const { plugin_type, ...fields } = sent;
  // Null is the default, which is `source` for code that is written through the API.
  const type =
    plugin_type === null && hidden.origin === null ? 'source' : (plugin_type ?? before.plugin_type);
  const isWritten = hidden.origin === null;
  if (type !== before.plugin_type && !(isWritten && written_types.includes(type)))
    throw invalid(
      'plugin_type',
      'invalid_input',
      `A plugin keeps its kind (${before.plugin_type}). Create another record for code from ` +
        'another place.',
    );
  if (!isWritten && fields.tag !== undefined && fields.tag !== before.tag)
    throw invalid(
      'tag',
      'invalid_input',
      `The tag is the installed version (${before.tag}): upgrade/ with a tag installs another.`,
    );
  await updatePlugin(
    tx,
    before.id,
    type === before.plugin_type ? fields : { ...fields, plugin_type: type },
  );
  return fields.config_schema === undefined
    ? undefined
    : followSchema(tx, deps.secrets, before.id, fields.config_schema);
}
