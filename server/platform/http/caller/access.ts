import type { FastifyRequest } from 'fastify';
import type { Sql } from 'sql-template-tag';
import { isUuid } from '../../uuid.ts';
import { forbidden, missing } from '../errors.ts';
import type { ApiError } from '../errors.ts';

/**
 * The caller, from the key or the session; one of `key_id` and `session_id` is set. A service key
 * belongs to no person: their three fields are null then.
 */
export type Caller = {
  user_id: number | null;
  user_uuid: string | null;
  email: string | null;
  /**
   * True if the user has a second factor and, for a session, showed it there. Without it,
   * organizations that enforce one are closed.
   */
  has_second_factor: boolean;
  key_id: string | null;
  key_mask: string | null;
  session_id: string | null;
  /** For a session that a provider opened: the domain of that provider. */
  session_domain_id: string | null;
  /** For a session: the ISO instant at which the person last showed their own factor. */
  own_factor_at: string | null;
  /**
   * True if the session reaches only a part of the account. It may then change nothing of the
   * account as a whole.
   */
  is_partial: boolean;
  /** A session has all scopes. */
  scopes: string[];
  /**
   * The only organizations that the key, or a session opened by a provider, may see; null: all of
   * the user's.
   */
  scoped_organizations: string[] | null;
  /** The only projects that the key may see, without their organizations; null: no such limit. */
  scoped_teams: number[] | null;
  /** The only address that an assistant's token is for; null: a key or a session. */
  resource: string | null;
};

/** A caller who is a person. */
export type Person = Caller & { user_id: number; user_uuid: string; email: string };

/** Returns true if the caller is a person, and no service key. */
export function isPerson(caller: Caller): caller is Person {
  return caller.user_id !== null;
}

/**
 * Returns the calling person. Throws 403 for a service key; the guard has already refused it on
 * routes that need a person.
 */
export function personOf({ caller }: Pick<FastifyRequest, 'caller'>): Person {
  if (isPerson(caller)) return caller;
  throw personRequired();
}

/** Returns a 403: only a person can do this, and a service key belongs to none. */
export function personRequired(): ApiError {
  return forbidden(
    'A service key belongs to no person and cannot do this: sign in, or use a personal API key.',
    'needs_person',
  );
}

/**
 * The target of the path: the organization, the caller's level there, and the project if the path
 * names one.
 */
export type Access = {
  organization_id: string;
  level: 1 | 8 | 15;
  team_id?: number;
  timezone?: string;
};

/** The names of the three levels. */
export const level_names = { 1: 'member', 8: 'administrator', 15: 'owner' } as const;

/** The kind of thing that contains a route. */
export type Within = 'organization' | 'project';

/** The parts of the look-up that a record's statement may use. */
export type RecordPlace = {
  organization_id: Sql;
  /** The caller's level there. */
  level: Sql;
  team_id: Sql;
  /**
   * The value of `:id` if another parameter of the path names the target; null if it is no UUID.
   */
  id: Sql;
};

/** Selects the one record that a GET returns, with its `id`, from the accessible place. */
export type RecordSelect = (place: RecordPlace) => Sql;

/**
 * The target that a request's path names; undefined if the name cannot be one (then there is no
 * look-up). `record` is read in the same statement, for the route `url`.
 */
export type Target =
  | {
      within: Within;
      id: string;
      record?: { url: string; select: RecordSelect; id: string | null } | undefined;
    }
  | undefined;

/**
 * The credential of a request, as its HMAC: a personal API key, a service key, or the token of a
 * session's cookie.
 */
export type Credential = { kind: 'key' | 'service_key' | 'session'; hash: Buffer };

/** One row of the look-up: the credential, its user and, if accessible, the target. */
export type Found = Caller & {
  /** For a key: the only addresses and networks from which it works; empty means any. */
  allowed_ip_ranges: string[];
  last_used_at: string | null;
  /** For a session: the time of its token, and whether the request showed the previous token. */
  token_created_at: string | null;
  is_previous_token: boolean;
  /**
   * For a session: its start, and its longest duration and idle time by the person's organizations.
   */
  session_created_at: string | null;
  session_hours_max: number | null;
  idle_minutes_max: number | null;
  organization_id: string | null;
  level: 1 | 8 | 15 | null;
  /** When the user was last seen in the target's organization. */
  last_seen_at: string | null;
  /** Why the organization is closed to its member; null: it is open. */
  closed: string | null;
  /** Addresses that the organization accepts; empty: all. */
  organization_ip_ranges: string[] | null;
  team_id: number | null;
  timezone: string | null;
  /** The record of the route, if requested and found. */
  record: unknown;
};

const integer_max = 2_147_483_647;

/** Returns the positive 32-bit integer in the text, or undefined. */
function integerId(text: string): number | undefined {
  if (!/^[1-9]\d{0,9}$/.test(text)) return undefined;
  const id = Number(text);
  return id <= integer_max ? id : undefined;
}

/**
 * Returns the UUID in a path parameter. Throws 404 for other text, because nothing can have such an
 * id.
 */
export function uuidParameter(
  request: FastifyRequest,
  name: 'id' | 'batch_export_id' | 'group_id' | 'token_id' | 'link_id' | 'replay_id',
): string {
  const text = parameterOf(request, name);
  return isUuid(text) ? text : missing();
}

/** Does the same as `uuidParameter` for a positive 32-bit integer. */
export function integerParameter(
  request: FastifyRequest,
  name: 'id' | 'set_aside_id' = 'id',
): number {
  return integerId(parameterOf(request, name)) ?? missing();
}

function parameterOf(request: FastifyRequest, name: string): string {
  return (request.params as Record<string, string>)[name] ?? '';
}

/**
 * Reads a target from a path's parameter: a UUID for organizations, an integer for projects, or
 * `@current`.
 */
export function targetOf(within: Within | undefined, name: string): Target {
  if (within === undefined) return undefined;
  const possible =
    name === '@current' ||
    (within === 'organization' ? isUuid(name) : integerId(name) !== undefined);
  return possible ? { within, id: name } : undefined;
}

/** Finds the access of credentials. */
export type AccessFinder = (
  credential: Credential,
  target: Target,
  now: string,
) => Promise<Found | undefined>;
