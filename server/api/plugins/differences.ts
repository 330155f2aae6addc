import { isDeepStrictEqual } from 'node:util';
import { lineDifferences } from './line_differences.ts';
import { fieldsOf } from '../../engine/plugins/config_schema.ts';
import type { PluginDifferences } from './schema.ts';

/** The compared parts of a plugin. */
export type Compared = {
  tag: string | null;
  files: Record<string, string>;
  config_schema: unknown;
  capabilities: unknown;
};

type Named = Record<string, unknown>;

/** Enough for code that people write; nobody reads bundled code line by line. */
const most = { read: 2_000_000, steps: 4_000_000, said: 300_000 };

/**
 * Returns the additions, removals and differences between two states of a plugin, each list ordered
 * by name. Capabilities that a client wrote in another form count as none.
 */
export function differencesOf(
  before: Compared,
  after: Compared,
): Omit<PluginDifferences, 'incomplete_configs'> {
  const capabilities = namesBetween(capabilitiesOf(before), capabilitiesOf(after));
  const files = namesBetween(before.files, after.files);
  return {
    from_tag: before.tag,
    to_tag: after.tag,
    files,
    config_fields: namesBetween(fieldsByKey(before), fieldsByKey(after)),
    capabilities: { added: capabilities.added, removed: capabilities.removed },
    line_changes: lineChanges(before.files, after.files, Object.values(files).flat()),
  };
}

function lineChanges(before: Compared['files'], after: Compared['files'], names: string[]) {
  const budget = { ...most };
  const textOf = (files: Compared['files'], name: string) =>
    Object.hasOwn(files, name) ? files[name]! : '';
  return names.toSorted().map((file) => ({
    file,
    diff: lineDifferences(textOf(before, file), textOf(after, file), budget),
  }));
}

function namesBetween(before: Named, after: Named) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const has = (record: Named) => (name: string) => Object.hasOwn(record, name);
  const both = names.filter((name) => has(before)(name) && has(after)(name));
  return {
    added: names.filter((name) => !has(before)(name)),
    removed: names.filter((name) => !has(after)(name)),
    changed: both.filter((name) => !isDeepStrictEqual(before[name], after[name])),
  };
}

function fieldsByKey({ config_schema }: Compared): Named {
  return Object.fromEntries(fieldsOf(config_schema).map((field) => [field.key!, field]));
}

function capabilitiesOf({ capabilities }: Compared): Named {
  if (typeof capabilities !== 'object' || capabilities === null) return {};
  const lists = Object.entries(capabilities).filter((entry): entry is [string, unknown[]] =>
    Array.isArray(entry[1]),
  );
  return Object.fromEntries(
    lists.flatMap(([kind, list]) => list.map((name) => [`${kind}.${String(name)}`, true])),
  );
}
