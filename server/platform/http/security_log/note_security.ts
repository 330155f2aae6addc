import type { FastifyRequest } from 'fastify';
import { isUuid } from '../../uuid.ts';
import { isPerson } from '../caller/access.ts';
import type { Access, Found } from '../caller/access.ts';
import { userAgentOf } from '../caller/auth.ts';
import { innerCall } from '../inner/inner_call.ts';
import { declaredPath } from '../methods.ts';
import type { SecurityEvent } from './security_event.ts';
import type { Refusal } from './words.ts';

/**
 * The subject of a request without a caller, if known: the account of a sign-in or a refused key,
 * and the organization that owns its domain or directory. `organizations` are those of a limited
 * key; null: no such limit.
 */
export type Concerned = {
  person?: { id: number; uuid: string; email: string } | undefined;
  organization_id?: string | undefined;
  key_mask?: string;
  organizations?: string[] | null;
};

declare module 'fastify' {
  interface FastifyRequest {
    /** For the security log: the subject of a request without a caller. */
    concerned: Concerned | undefined;
  }
}

/**
 * Records a request's refusal or action in the security log. An inner request is a part of one that
 * is recorded itself.
 */
export function noteSecurity(request: FastifyRequest, refusal: Refusal): void {
  if (innerCall() !== undefined) return;
  const { security_log, clock } = request.server.context;
  security_log.take(eventOf(request, refusal, clock.now()));
}

/**
 * Returns the event of a request. Guarantee: of the request, it only contains its method, its
 * client's name, and ids in its path. A path may contain a token, and a typed address may be a
 * password, so both are omitted.
 */
function eventOf(request: FastifyRequest, refusal: Refusal, now_ms: number): SecurityEvent {
  const caller = request.caller as Found | undefined;
  const access = request.access as Access | undefined;
  const concerned = request.concerned ?? {};
  const person =
    caller === undefined
      ? concerned.person
      : isPerson(caller)
        ? { id: caller.user_id, uuid: caller.user_uuid, email: caller.email }
        : undefined;
  const own_organization =
    caller?.user_id === null ? (caller.scoped_organizations?.[0] ?? null) : null;
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
      own_organization,
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

/**
 * Returns the last id in the path; none on public routes, where an id may be the secret of a link.
 */
function itemOf({ params, routeOptions }: FastifyRequest): string | null {
  const { scope } = routeOptions.config;
  if (scope === undefined || scope === 'public') return null;
  const texts = Object.values((params ?? {}) as Record<string, string>);
  return texts.findLast((text) => isUuid(text) || /^\d{1,10}$/.test(text)) ?? null;
}
