import type { FastifyRequest } from 'fastify';
import { isUuid } from '../../uuid.ts';
import type { Access, Found } from '../caller/access.ts';
import { userAgentOf } from '../caller/auth.ts';
import { declaredPath } from '../methods.ts';
import { security_words } from './words.ts';
import type { Refusal } from './words.ts';

/**
 * What a request without a caller is about, as far as it is known: the account that a sign-in or a
 * refused key belongs to, and the organization whose domain or directory it is. `organizations`
 * are those that a limited key reaches; null: no such limit.
 */
export type Concerned = {
  person?: { id: number; uuid: string; email: string } | undefined;
  organization_id?: string | undefined;
  key_mask?: string;
  organizations?: string[] | null;
};

declare module 'fastify' {
  interface FastifyRequest {
    /** For the security log: whom a request concerns that has no caller. */
    concerned: Concerned | undefined;
  }
}

/** An event of the security log: what, why, who, from where. It never holds a secret. */
export type SecurityEvent = Omit<Refusal, 'organization_id'> & {
  user_id: number | null;
  user_uuid: string | null;
  user_email: string | null;
  key_mask: string | null;
  session_id: string | null;
  organization_id: string | null;
  organizations: string[] | null;
  ip: string;
  user_agent: string;
  method: string;
  route: string;
  item_id: string | null;
  request_id: string;
  /** How many alike it stands for. */
  count: number;
  created_at_ms: number;
};

/**
 * The event that a request made. Guarantee: of what the request sent nothing is taken but its
 * method, what it calls itself, and ids in its path; a path's own text may hold a token, and what
 * was typed as an address may be a password, so neither is in it.
 */
export function eventOf(request: FastifyRequest, refusal: Refusal, now_ms: number): SecurityEvent {
  const caller = request.caller as Found | undefined;
  const access = request.access as Access | undefined;
  const concerned = request.concerned ?? {};
  const person =
    caller === undefined
      ? concerned.person
      : { id: caller.user_id, uuid: caller.user_uuid, email: caller.email };
  return {
    ...refusal,
    user_id: person?.id ?? null,
    user_uuid: person?.uuid ?? null,
    user_email: person?.email ?? null,
    key_mask: caller?.key_mask ?? concerned.key_mask ?? null,
    session_id: caller?.session_id ?? null,
    organization_id:
      refusal.organization_id ??
      access?.organization_id ??
      caller?.organization_id ??
      concerned.organization_id ??
      null,
    organizations: caller?.scoped_organizations ?? concerned.organizations ?? null,
    ip: request.ip,
    user_agent: userAgentOf(request),
    method: request.method,
    route: declaredPath(request),
    item_id: itemOf(request),
    request_id: request.id,
    count: 1,
    created_at_ms: now_ms,
  };
}

/** The last id in the path; none on public routes, where an id may be the secret of a link. */
function itemOf({ params, routeOptions }: FastifyRequest): string | null {
  const { scope } = routeOptions.config;
  if (scope === undefined || scope === 'public') return null;
  const texts = Object.values((params ?? {}) as Record<string, string>);
  return texts.findLast((text) => isUuid(text) || /^\d{1,10}$/.test(text)) ?? null;
}

/** The line of an event in the server's log, all but its sentence: docs/security_log.md. */
export function lineOf(event: SecurityEvent): Record<string, unknown> {
  const {
    event: security_event,
    more = {},
    created_at_ms: _at,
    organizations: _all,
    ...told
  } = event;
  return { security_event, ...told, ...more };
}

/** The sentence of an event, and the level of its line. */
export function sentenceOf({ event }: SecurityEvent): { said: string; level: 'warn' | 'info' } {
  return security_words[event];
}
