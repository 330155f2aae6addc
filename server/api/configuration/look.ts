import type { Deps } from '../../deps.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { forbidden } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { satisfying } from '../../platform/http/caller/scopes.ts';
import type { Scope } from '../../platform/http/caller/scopes.ts';
import { judge } from './judge.ts';
import type { Judged } from './judge.ts';
import { kinds } from './kinds/index.ts';
import type { Kind } from './kinds/kind.ts';
import type { PlanRequest } from './schema.ts';
import { kindsNeeded, readState } from './standing.ts';
import type { State } from './standing.ts';
import type { Fingerprint } from './steps.ts';
import { readConfiguration } from './wanted.ts';
import type { Configuration, Wanted } from './wanted.ts';
import type { KindName } from '../managed/schema.ts';

/** Where a plan comes from. */
export type Source = { name: string; commit: string | null };

/** What a plan was asked for, and what it means for what stands now. */
export type Looked = {
  configuration: Configuration;
  judged: Judged;
  source: Source;
  fingerprint: Fingerprint;
  /** Every fault of form, and every one between objects. */
  violations: Violation[];
};

/** The source that a request names. */
function sourceOf({ source }: PlanRequest): Source {
  return { name: source?.name ?? 'default', commit: source?.commit ?? null };
}

/**
 * Reads a configuration and what stands, and compares them; changes nothing. Throws 403 for a kind
 * that the caller's key may not read.
 */
export async function look(
  deps: Deps,
  db: Queryable,
  who: { organization_id: string; scopes: readonly string[] },
  asked: PlanRequest,
): Promise<Looked> {
  const read = readConfiguration(asked.configuration, asked.people ?? false);
  const names = new Set<KindName>(read.objects.map(({ kind }) => kind.name));
  for (const kind of kindsOfSections(read)) names.add(kind);
  const needed = kindsNeeded(names);
  refuseUnreadable(needed, who.scopes);
  const read_kinds = asked.prune === true ? withWhatLiesIn(needed) : needed;
  const state = await readState(deps, db, who.organization_id, read_kinds);
  const configuration = { ...read, objects: withoutAccepted(read.objects, state) };
  const fingerprint = fingerprintBy(deps);
  const source = sourceOf(asked);
  const judged = judge(configuration, state, { source: source.name, fingerprint });
  const violations = [...read.violations, ...judged.violations];
  return { configuration, judged, source, fingerprint, violations };
}

/** A project that is deleted takes along what lies in it, whose kinds the files may not have. */
function withWhatLiesIn(needed: readonly Kind[]): Kind[] {
  const names = new Set(needed.map(({ name }) => name));
  const inside = kinds.filter(({ parent }) => parent !== undefined && names.has(parent));
  return kindsNeeded(new Set([...names, ...inside.map(({ name }) => name)]));
}

/** Throws 403 for a kind that a key with these scopes may not read. */
export function refuseUnreadable(wanted: readonly Kind[], scopes: readonly string[]): void {
  const unreadable = wanted.filter((kind) => !mayRead(kind, scopes));
  const lacking = [...new Set(unreadable.map(({ right }) => `${right}:read`))];
  if (lacking.length > 0)
    throw forbidden(
      `The API key lacks the scope${lacking.length === 1 ? '' : 's'} ${lacking.join(', ')}.`,
      'scope',
    );
}

/** Whether a key with these scopes may read objects of the kind. */
export function mayRead({ right }: Kind, scopes: readonly string[]): boolean {
  const accepted = satisfying(`${right}:read` as Scope);
  return scopes.some((scope) => accepted.has(scope));
}

/** The HMAC by which secrets are compared that must not be known: under the server's key. */
function fingerprintBy({ secrets }: Pick<Deps, 'secrets'>): Fingerprint {
  return (kind, id, path, value) =>
    secrets
      .hash(`configuration secret ${JSON.stringify([kind.name, id, path, value])}`)
      .toString('hex');
}

/** An invite of somebody who is a member has done its work. */
function withoutAccepted(objects: Wanted[], { objects: standing }: State): Wanted[] {
  const addresses = new Set(
    standing.flatMap(({ kind, fields }) => (kind.name === 'member' ? [fields['email']] : [])),
  );
  return objects.filter(
    ({ kind, fields }) => kind.name !== 'invite' || !addresses.has(fields['target_email']),
  );
}

function kindsOfSections({ sections }: Configuration): KindName[] {
  const last = new Set([...sections].map((path) => path.split('.').at(-1)));
  return kinds.filter(({ section }) => last.has(section)).map(({ name }) => name);
}
