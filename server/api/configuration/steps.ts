import { isDeepStrictEqual } from 'node:util';
import { isGivenSecret } from '../../engine/model/destination/stored_config.ts';
import type { Fields } from '../../platform/fields.ts';
import { changesOf, secretChange } from '../../platform/activity/changes.ts';
import { isInstant } from '../../platform/instant.ts';
import type { Kind } from './kinds/kind.ts';
import type { FieldChange } from './schema.ts';
import type { SecretWanted } from './secret_values.ts';
import type { Placed } from './standing.ts';
import type { Wanted } from './wanted.ts';

/** A wanted object beside the one that stands in its place. */
export type Pair = { wanted: Wanted; standing: Placed | undefined };

/** HMAC of a secret of an object, as text. */
export type Fingerprint = (kind: Kind, id: string, path: string, value: unknown) => string;

/** What one object may need; the route says whether a difference is a change. */
export type Candidate = Pair & {
  action: 'create' | 'change' | 'move' | 'adopt';
  moved_from: string | null;
  /** The configuration that wants it. */
  source: string;
  /** Whether fields or secrets differ from what stands. */
  differs: boolean;
  changes: FieldChange[];
};

/** What was changed by hand since it was applied; of an object that is gone there is no pair. */
export type Drifted = { wanted: Wanted; standing: Placed; changes: FieldChange[] };

/** What has to be done for a pair; undefined: nothing. */
export function candidateOf(pair: Pair, source: string): Candidate | undefined {
  const { wanted, standing } = pair;
  const base = { ...pair, source, moved_from: null };
  if (standing === undefined)
    return { ...base, action: 'create', differs: true, changes: creation(wanted) };
  const changes = differencesOf(wanted, standing);
  const differs = changes.length > 0;
  if (standing.managed !== undefined && standing.key !== wanted.key)
    return { ...base, action: 'move', moved_from: standing.path, differs, changes };
  if (standing.managed?.source !== source) return { ...base, action: 'adopt', differs, changes };
  return differs ? { ...base, action: 'change', differs, changes } : undefined;
}

/** What somebody else changed, and the files would change back; undefined: nothing. */
export function driftOf({ wanted, standing }: Pair, fingerprint: Fingerprint): Drifted | undefined {
  const managed = standing?.managed;
  if (standing === undefined || managed === undefined) return undefined;
  const differing = Object.keys(wanted.fields).filter(
    (name) => Object.hasOwn(managed.fields, name) && !isSame(wanted, standing.fields, name),
  );
  const changes = changesOf(only(managed.fields, differing), only(standing.fields, differing));
  const secrets = Object.entries(wanted.secrets).flatMap(([path, secret]) => {
    const applied = managed.secrets[path];
    const stands = standing.secrets[path];
    if (applied === undefined || isSameSecret(secret, stands)) return [];
    return stands !== undefined && fingerprint(standing.kind, standing.id, path, stands) === applied
      ? []
      : [secretChange(path, stands === undefined ? 'deleted' : 'changed')];
  });
  const all = [...changes, ...secrets];
  return all.length === 0 ? undefined : { wanted, standing, changes: all };
}

/**
 * A text that is another one as soon as something differs that the plan looked at: of a wanted
 * object the fields that are named, of one that would be deleted all.
 */
export function versionOf(
  { wanted, standing }: { wanted: Wanted | undefined; standing: Placed | undefined },
  fingerprint: Fingerprint,
): string {
  if (standing === undefined) return 'absent';
  const { kind, id, key, fields, secrets, managed } = standing;
  const named = wanted === undefined ? fields : only(fields, Object.keys(wanted.fields));
  const sealed = Object.entries(secrets).map(([path, value]) => [
    path,
    fingerprint(kind, id, path, value),
  ]);
  return JSON.stringify([id, key, managed?.source ?? null, named, sealed]);
}

/** What of the wanted fields and secrets differs from what stands. */
function differencesOf(wanted: Wanted, standing: Placed): FieldChange[] {
  const differing = Object.keys(wanted.fields).filter(
    (name) => !isSame(wanted, standing.fields, name),
  );
  return [
    ...changesOf(only(standing.fields, differing), only(wanted.fields, differing)),
    ...Object.entries(wanted.secrets).flatMap(([path, secret]) => {
      const stands = standing.secrets[path];
      if (isSameSecret(secret, stands)) return [];
      const [had, has] = [isGivenSecret(stands), 'value' in secret && isGivenSecret(secret.value)];
      return [secretChange(path, had ? (has ? 'changed' : 'deleted') : 'created')];
    }),
  ];
}

function creation({ fields, secrets }: Wanted): FieldChange[] {
  return [
    ...changesOf(undefined, fields),
    ...Object.entries(secrets)
      .filter(([, secret]) => !('value' in secret) || isGivenSecret(secret.value))
      .map(([path]) => secretChange(path, 'created')),
  ];
}

/** Whether a secret says nothing else than what stands; only a value can. */
function isSameSecret(secret: SecretWanted, stands: unknown): boolean {
  if (!('value' in secret)) return true;
  return isDeepStrictEqual(secret.value ?? undefined, stands ?? undefined);
}

/** Two spellings of one instant are the same. */
function isSame({ kind, fields }: Wanted, stands: Fields, name: string): boolean {
  const [one, other] = [fields[name], stands[name]];
  const { format } = (kind.schema.properties as Record<string, { format?: string }>)[name] ?? {};
  if (format === 'date-time' && [one, other].every(isInstantText))
    return Date.parse(one as string) === Date.parse(other as string);
  return isDeepStrictEqual(one, other);
}

function isInstantText(value: unknown): boolean {
  return typeof value === 'string' && isInstant(value);
}

function only(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(
    names.flatMap((name) => (Object.hasOwn(fields, name) ? [[name, fields[name]]] : [])),
  );
}
