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

/**
 * Splits changes: `now` takes effect, `pending` waits (null: nothing waits; undefined: the waiting
 * changes stay). A field that is changed back to its current value waits no more.
 */
export function splitChanges(
  request: FastifyRequest,
  before: Pick<DomainRow, 'pending_changes'> & AnchorChanges,
  changes: AnchorChanges,
): { now: AnchorChanges; pending: Pending | null | undefined } {
  const at_once = isAtOnce(request);
  const waiting = before.pending_changes ?? {};
  const left = Object.fromEntries(
    anchor_fields.flatMap((field) => {
      const value = at_once && field in changes ? undefined : { ...waiting, ...changes }[field];
      return value === undefined || isSame(before[field], value) ? [] : [[field, value]];
    }),
  ) as AnchorChanges;
  const { context } = request.server;
  const pending = { changes: left, set_by: personOf(request).email };
  const unchanged = JSON.stringify(left) === JSON.stringify(ordered(waiting));
  return {
    now: at_once ? changes : {},
    pending: unchanged
      ? undefined
      : Object.keys(left).length === 0
        ? null
        : { ...pending, set_at: isoInstant(context.clock.now()) },
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
