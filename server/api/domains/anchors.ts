import type { FastifyRequest } from 'fastify';
import { isoInstant } from '../../platform/clock.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { isFactorRecent } from '../../platform/http/caller/session.ts';
import { isUnset } from './saml_fields.ts';
import { anchor_fields } from './schema.ts';
import type { AnchorChanges, DomainRow } from './schema.ts';

/** Changes that wait for an owner, as they are stored. */
export type Pending = { changes: AnchorChanges; set_by: string; set_at: string };

/**
 * Takes effect at once what this caller changes of who signs in? So it does for an owner, with a
 * key of all scopes or in a session that showed the owner's own factor in the last ten minutes: a
 * trust anchor never carries more than the right of whoever set it.
 */
export function isAtOnce({ caller, access, server }: FastifyRequest): boolean {
  if (access.level < 15) return false;
  return caller.session_id === null
    ? caller.scopes.includes('*')
    : isFactorRecent(server.context, caller);
}

/** The changes that take effect, and those that wait. */
type Split = { now: AnchorChanges; pending: Pending | null | undefined };

/**
 * Splits changes: `now` takes effect, `pending` waits (null: nothing waits; undefined: the waiting
 * changes stay). A field that is changed back to its current value waits no more.
 */
export function splitChanges(
  request: FastifyRequest,
  before: Pick<DomainRow, 'pending_changes'> & AnchorChanges,
  changes: AnchorChanges,
): Split {
  const { clock } = request.server.context;
  const is_at_once = isAtOnce(request);
  return splitBy(
    { is_at_once, set_by: personOf(request).email, now_ms: clock.now() },
    before,
    changes,
  );
}

/** As `splitChanges`, of a change by somebody who need not be a caller. */
export function splitBy(
  { is_at_once, set_by, now_ms }: { is_at_once: boolean; set_by: string; now_ms: number },
  before: Pick<DomainRow, 'pending_changes'> & AnchorChanges,
  changes: AnchorChanges,
): Split {
  const waiting = before.pending_changes ?? {};
  const left = Object.fromEntries(
    anchor_fields.flatMap((field) => {
      const value = is_at_once && field in changes ? undefined : { ...waiting, ...changes }[field];
      return value === undefined || isSame(before[field], value) ? [] : [[field, value]];
    }),
  ) as AnchorChanges;
  const unchanged = JSON.stringify(left) === JSON.stringify(ordered(waiting));
  return {
    now: is_at_once ? changes : {},
    pending: unchanged
      ? undefined
      : Object.keys(left).length === 0
        ? null
        : { changes: left, set_by, set_at: isoInstant(now_ms) },
  };
}

function ordered(changes: AnchorChanges): AnchorChanges {
  const entries = anchor_fields.flatMap((field) =>
    changes[field] === undefined ? [] : [[field, changes[field]]],
  );
  return Object.fromEntries(entries) as AnchorChanges;
}

function isSame(standing: unknown, value: unknown): boolean {
  const plain = (one: unknown) => (one === undefined || isUnset(one as string | null) ? null : one);
  return plain(standing) === plain(value);
}

/** Has the domain a say in who signs in, so that its end would change that? */
export function isAnchor(domain: DomainRow, has_directory: boolean): boolean {
  const { is_verified, has_saml, jit_provisioning_enabled, sso_enforcement } = domain;
  // The memory of a directory counts again when the domain is proved again.
  if (has_directory) return true;
  return is_verified && (has_saml || jit_provisioning_enabled || sso_enforcement !== '');
}
