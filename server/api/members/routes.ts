import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { Problem } from '../../platform/http/responses.ts';
import { write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import { addList, addRecord, addRoute } from '../../platform/http/records.ts';
import { getMember } from './named_member.ts';
import { isOneself, refuseLevel, refuseRemoval } from './rules.ts';
import { memberSessionRoutes } from './session_routes.ts';
import { Member, MemberPatch, MemberPut } from './schema.ts';
import type { MemberRow } from './schema.ts';
import {
  deleteMember,
  findMemberOfAnyState,
  hasOtherOwner,
  listMembers,
  updateLevel,
} from './store.ts';

const base = '/api/organizations/:organization_id/members/';
const url = `${base}:user__uuid/`;
const within = 'organization';
/**
 * Rules about several members read them under the organization's lock, so that concurrent changes
 * cannot both see the old state.
 */
const writing = { scope: 'organization_member:write', within, locks_organization: true } as const;

/**
 * Routes of `/api/organizations/:organization_id/members/`: list, change the level, remove, leave;
 * the sessions of a member.
 */
export function memberRoutes(app: FastifyInstance, deps: Deps): void {
  listRoute(app);
  levelRoutes(app);
  removalRoute(app);
  memberSessionRoutes(app, deps);
}

function listRoute(app: FastifyInstance): void {
  addList(app, {
    url: base,
    config: { scope: 'organization_member:read', within },
    summary: 'List the active members, newest first',
    answer: Member,
    rows: (request) => listMembers(request.access.organization_id),
  });
}

function levelRoutes(app: FastifyInstance): void {
  addRecord(
    app,
    {
      url,
      answer: Member,
      reading: { scope: 'organization_member:read', within },
      changing: { ...writing, level: 8 },
      get: (db, request) => getMember(request, db),
      entry: entryOf,
    },
    {
      change: {
        description:
          'You cannot change your own level. Only an owner can make another member an owner, or ' +
          'change the level of an owner. `@me` is the caller.',
        patch: { summary: "Change a member's level", body: MemberPatch },
        put: { summary: "Set a member's level", body: MemberPut },
        apply: async ({ tx, request, before, schema }) => {
          const { level } = body(request, schema);
          refuseLevel(askerOf(request), before, level);
          if (level !== undefined) await updateLevel(tx, before.id, level);
        },
      },
    },
  );
}

function removalRoute(app: FastifyInstance): void {
  addRoute(app, {
    method: 'DELETE',
    url,
    config: writing,
    summary: 'Remove a member, or leave (`@me`)',
    description:
      'To remove another member you need level 8, to remove an owner level 15. Everybody ' +
      'except the only owner can leave. Their keys and sessions stop working there at once. ' +
      'Members whose account is deactivated can be removed as well.',
    response: {
      204: { type: 'null' },
      409: { ...Problem, description: 'The only owner cannot leave.' },
    },
    handler: removeMember,
  });
}

function removeMember(request: FastifyRequest, reply: FastifyReply) {
  return write(request, reply, 204, async (tx, record) => {
    const { organization_id } = request.access;
    // The lists omit a deactivated person, but their membership can still be removed.
    const member = await getMember(request, tx, findMemberOfAnyState);
    ifMatch(request, member);
    refuseRemoval(askerOf(request), member, await hasOtherOwner(tx, organization_id, member.id));
    await deleteMember(tx, organization_id, member.user.id);
    record(entryOf(isOneself(askerOf(request), member) ? 'left' : 'removed', member, undefined));
  });
}

function askerOf(request: FastifyRequest) {
  return { user_uuid: personOf(request).user_uuid, level: request.access.level };
}

function entryOf(
  activity: string,
  before: MemberRow | undefined,
  after: MemberRow | undefined,
): Entry {
  const { user } = (after ?? before)!;
  // This route does not change the person's own fields.
  const changes = changesOf(before, after, [
    'id',
    'user',
    'updated_at',
    'last_seen_at',
    'is_2fa_enabled',
    'has_social_auth',
    'managed_by',
    'directory_token_count',
  ]);
  return { activity, scope: 'member', item_id: user.uuid, item_name: user.email, changes };
}
