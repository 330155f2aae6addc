import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { personOf, uuidParameter } from '../../platform/http/caller/access.ts';
import { missing } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { write } from '../../platform/http/write.ts';
import type { Afterwards, Entry } from '../../platform/http/write.ts';
import { addList, addRoute } from '../../platform/http/records.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { getOrganizationName } from '../organizations/store.ts';
import { Session } from '../sessions/schema.ts';
import { endSession } from '../sessions/store.ts';
import { endSessionsIn, findSessionIn, listSessionsIn } from './member_sessions.ts';
import { getMember } from './named_member.ts';
import type { MemberRow } from './schema.ts';
import { sessionsEndedMail } from './sessions_ended_mail.ts';

const list = '/api/organizations/:organization_id/members/:user__uuid/sessions/';
const url = `${list}:id/`;
const within = 'organization';
const reading = { scope: 'organization_member:read', within, level: 15 } as const;
const ending = { scope: 'organization_member:write', within, level: 15 } as const;
const description =
  'Sessions that reach the organization. A session is one sign-in, so one that is ended signs ' +
  'the person out of that browser everywhere on this server; their API keys stay. They get a mail.';

/**
 * Routes of `.../members/:user__uuid/sessions/`: owners see a member's sessions, and end one or
 * all.
 */
export function memberSessionRoutes(app: FastifyInstance, deps: Deps): void {
  const { db, clock } = deps;
  addList(app, {
    url: list,
    config: reading,
    summary: "List a member's sessions that reach the organization, newest first; for owners",
    answer: Session,
    rows: async (request) => {
      const place = placeOf(request, await getMember(request, db));
      return listSessionsIn(place, clock.now());
    },
  });
  addRoute(app, {
    method: 'DELETE',
    url: list,
    config: ending,
    summary: "End all of a member's sessions that reach the organization; for owners",
    description,
    operationId: 'organizations_members_sessions_destroy_all',
    response: { 204: { type: 'null' } },
    handler: (request, reply) =>
      end(deps, request, reply, (tx, member) =>
        endSessionsIn(tx, placeOf(request, member), clock.now()),
      ),
  });
  addRoute(app, {
    method: 'DELETE',
    url,
    config: ending,
    summary: "End one of a member's sessions at once; for owners",
    description,
    response: { 204: { type: 'null' } },
    handler: (request, reply) =>
      end(deps, request, reply, async (tx, member) => {
        const id = uuidParameter(request, 'id');
        const session =
          (await findSessionIn(tx, placeOf(request, member), id, clock.now())) ?? missing();
        ifMatch(request, session);
        await endSession(tx, session.id);
        return 1;
      }),
  });
}

/** Returns the member whose sessions the owner reads, and their organization. */
function placeOf({ access, caller }: FastifyRequest, member: MemberRow) {
  return {
    user_id: member.user.id,
    session_id: caller.session_id,
    organization_id: access.organization_id,
  };
}

/** Ends sessions of the path's member, records it in both logs, and mails the person. */
function end(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  work: (tx: Transaction, member: MemberRow) => Promise<number>,
) {
  return write(request, reply, 204, async (tx, record, afterwards) => {
    const member = await getMember(request, tx);
    const ended = await work(tx, member);
    if (ended === 0) return record('nothing');
    record(endedEntry(member, ended));
    await tellPerson(deps, request, { tx, afterwards }, member, ended);
  });
}

function endedEntry({ user: { uuid, email } }: MemberRow, ended: number): Entry {
  return {
    activity: 'ended_sessions',
    scope: 'member',
    item_id: uuid,
    item_name: email,
    changes: changesOf({}, { ended }),
    also: [{ user_uuid: uuid }],
  };
}

async function tellPerson(
  { outbox, config }: Deps,
  request: FastifyRequest,
  place: { tx: Transaction; afterwards: Afterwards },
  { user }: MemberRow,
  ended: number,
): Promise<void> {
  const caller = personOf(request);
  if (user.uuid === caller.user_uuid) return;
  const organization_name = await getOrganizationName(place.tx, request.access.organization_id);
  const told = { to: user.email, by: caller.email, organization_name, ended };
  await outbox.post(place, [{ message: sessionsEndedMail(told, config.public_url) }]);
}
