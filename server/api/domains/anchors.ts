import type { FastifyRequest } from 'fastify';
import { isoInstant } from '../../platform/clock.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { isFactorRecent } from '../../platform/http/caller/session.ts';
import { isUnset } from './saml_fields.ts';
import { anchor_fields } from './schema.ts';
import type { AnchorChanges, DomainRow } from './schema.ts';

/** Changes that wait for an owner, in their stored form. */
export type Pending = { changes: AnchorChanges; set_by: string; set_at: string };

/**
 * Returns true if this caller's changes of sign-in settings take effect at once. That requires an
 * owner with a key of all scopes, or in a session whose own factor was confirmed in the last ten
 * minutes. So a trust anchor never has more authority than the person who set it.
 */
export function isAtOnce({ caller, access, server }: FastifyRequest): boolean {
  if (access.level < 15) return false;
  return caller.session_id === null
    ? caller.scopes.includes('*')
    : isFactorRecent(server.context, caller);
}

/** Changes that take effect, and changes that wait. */
type Split = { now: AnchorChanges; pending: Pending | null | undefined };

/**
 * Splits changes: `now` takes effect, `pending` waits (null: no change waits; undefined: the
 * waiting changes stay). A field that is changed back to its current value no longer waits.
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

/** Like `splitChanges`, for a person who is not the caller. */
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

/** Returns true if the domain affects who can sign in, so that its deletion would change that. */
export function isAnchor(domain: DomainRow, has_directory: boolean): boolean {
  const { is_verified, has_saml, jit_provisioning_enabled, sso_enforcement } = domain;
  // The members that a directory knows become valid again when the domain is verified again.
  if (has_directory) return true;
  return is_verified && (has_saml || jit_provisioning_enabled || sso_enforcement !== '');
}
