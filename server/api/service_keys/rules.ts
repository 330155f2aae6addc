import type { FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import { counted } from '../../platform/counted.ts';
import { beginBody } from '../../platform/http/bodies/body.ts';
import {
  entriesOf,
  isExpired,
  pastExpiry,
  repeatedEntries,
} from '../../platform/http/caller/key_rules.ts';
import { conflict, invalid } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { rangeFaults } from '../../platform/http/guards/ip_ranges.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { ServiceKeyRow } from './schema.ts';
import { findProjectsOf } from './store.ts';

/** Keys that work at a time, per organization. */
const keys_max = 100;
const lists = ['scopes', 'scoped_teams', 'allowed_ip_ranges'] as const;
const team_id_max = 2_147_483_647;

/** Throws 400 when the organization has as many working keys as one may have. */
export function refuseTooManyKeys(live: number): void {
  if (live < keys_max) return;
  throw invalid(
    null,
    'max_items',
    `The organization has ${counted(live, 'service key')} that work, and ${keys_max} is the ` +
      'most: revoke one that no program uses, then try again.',
  );
}

/** Throws 409 for a key that has expired or was rotated: it has nothing to hand on. */
export function refuseSecondRoll(key: ServiceKeyRow, is_rolled: boolean, now_ms: number): void {
  if (isExpired(key, now_ms))
    throw conflict('This key has expired, so there is nothing to replace: create a new key.');
  if (is_rolled)
    throw conflict(
      'This key was rotated and has a successor: rotate the successor, or create a new key.',
    );
}

/**
 * The checked body of a service key. Throws one 400 with every violation, of the schema and of the
 * rules: an entry of a list stands once, projects are of the organization, ranges are addresses or
 * networks, and the expiry lies in the future.
 */
export async function serviceKeyBody<Schema extends TObject>(
  request: FastifyRequest,
  schema: Schema,
  about: { db: Queryable; now_ms: number },
): Promise<Static<Schema>> {
  const { sent, endWith } = beginBody(request, schema);
  return endWith([
    ...lists.flatMap((name) => repeatedEntries(name, entriesOf(sent, name))),
    ...rangeFaults('allowed_ip_ranges', entriesOf(sent, 'allowed_ip_ranges')),
    ...pastExpiry(sent['expires_at'], about.now_ms),
    ...(await foreignProjects(about.db, request.access.organization_id, sent)),
  ]);
}

async function foreignProjects(
  db: Queryable,
  organization_id: string,
  sent: Record<string, unknown>,
): Promise<Violation[]> {
  const entries = entriesOf(sent, 'scoped_teams');
  const ids = entries.filter(isTeamId);
  const known =
    ids.length === 0 ? new Set<number>() : await findProjectsOf(db, organization_id, ids);
  return entries.flatMap((entry, index) =>
    !isTeamId(entry) || known.has(entry)
      ? []
      : [
          {
            attr: `scoped_teams__${index}`,
            code: 'invalid_choice' as const,
            detail: 'The organization has no such project.',
          },
        ],
  );
}

function isTeamId(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= team_id_max;
}
