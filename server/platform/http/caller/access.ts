import type { FastifyRequest } from 'fastify';
import type { Sql } from 'sql-template-tag';
import { isUuid } from '../../uuid.ts';
import { forbidden, missing } from '../errors.ts';
import type { ApiError } from '../errors.ts';

/**
 * The caller, as the key or the session says; one of `key_id` and `session_id` is set. A service
 * key belongs to no person: their three fields are null then.
 */
export type Caller = {
  user_id: number | null;
  user_uuid: string | null;
  email: string | null;
  /**
   * Does the user have a second factor and, of a session, was it shown there? Without it,
   * organizations that enforce one are closed.
   */
  has_second_factor: boolean;
  key_id: string | null;
  key_mask: string | null;
  session_id: string | null;
  /** For a session that a provider opened: the domain of that provider. */
  session_domain_id: string | null;
  /** For a session: the ISO instant at which the person last showed a factor of their own. */
  own_factor_at: string | null;
  /**
   * Does the session reach only a part of what the account has? Then it changes nothing of the
   * account as a whole.
   */
  is_partial: boolean;
  /** A session has all scopes. */
  scopes: string[];
  /**
   * Only these organizations may be seen with the key, or in a session that a provider opened;
   * null: all of the user's.
   */
  scoped_organizations: string[] | null;
  /**
   * Only these projects, and nothing of their organizations beside them, may be seen with the key;
   * null: no such limit.
   */
  scoped_teams: number[] | null;
  /** The one address that the token of an assistant is for; null: a key or a session. */
  resource: string | null;
};

/** A caller who is a person. */
export type Person = Caller & { user_id: number; user_uuid: string; email: string };

/** Is the caller a person, and no service key? */
export function isPerson(caller: Caller): caller is Person {
  return caller.user_id !== null;
}

/**
 * Returns the person who asks. Throws 403 for a service key; the guard has refused it before where
 * the route says that it needs a person.
 */
export function personOf({ caller }: Pick<FastifyRequest, 'caller'>): Person {
  if (isPerson(caller)) return caller;
  throw personRequired();
}

/** 403: only a person can do this, and a service key belongs to none. */
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

/** The three levels in words. */
export const level_names = { 1: 'member', 8: 'administrator', 15: 'owner' } as const;

/** The kind of thing that contains a route. */
export type Within = 'organization' | 'project';

/** The parts of the look-up that a record's statement may name. */
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

/**
 * Selects the one record that a GET answers, with its `id`, from the place where the caller may be.
 */
export type RecordSelect = (place: RecordPlace) => Sql;

/**
 * The thing that one request's path names; undefined when the name cannot be one (then nothing is
 * looked up). `record` is read in the same statement, of the route `url`.
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

/** One row of the look-up: the credential, its user and, when the user may be there, the target. */
export type Found = Caller & {
  /** For a key: the only addresses and networks from which it works; empty means any. */
  allowed_ip_ranges: string[];
  last_used_at: string | null;
  /** For a session: the time of its token, and whether the request showed the previous token. */
  token_created_at: string | null;
  is_previous_token: boolean;
  /** For a session: its start, and its longest duration and rest by the person's organizations. */
  session_created_at: string | null;
  session_hours_max: number | null;
  idle_minutes_max: number | null;
  organization_id: string | null;
  level: 1 | 8 | 15 | null;
  /** When the user was last seen in the target's organization. */
  last_seen_at: string | null;
  /** Why the organization is closed to its member; null: it is open. */
  closed: string | null;
  /** Addresses that the organization lets in; empty: all. */
  organization_ip_ranges: string[] | null;
  team_id: number | null;
  timezone: string | null;
  /** The record of the route, when it was asked for and is there. */
  record: unknown;
};

const integer_max = 2_147_483_647;

/** The positive 32-bit integer that the text spells, or undefined. */
function integerId(text: string): number | undefined {
  if (!/^[1-9]\d{0,9}$/.test(text)) return undefined;
  const id = Number(text);
  return id <= integer_max ? id : undefined;
}

/**
 * The UUID that a path parameter holds. Throws 404 for other text, because nothing can have such an
 * id.
 */
export function uuidParameter(
  request: FastifyRequest,
  name: 'id' | 'batch_export_id' | 'group_id' | 'token_id' | 'link_id' | 'replay_id',
): string {
  const text = parameterOf(request, name);
  return isUuid(text) ? text : missing();
}

/** As `uuidParameter`, for one that is a positive 32-bit integer. */
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

/** Finds what credentials give access to. */
export type AccessFinder = (
  credential: Credential,
  target: Target,
  now: string,
) => Promise<Found | undefined>;
