import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { secretChange } from '../../platform/activity/changes.ts';
import { level_names, personOf, uuidParameter } from '../../platform/http/caller/access.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { forbidden, invalid, missing } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { requireLevel } from '../../platform/http/caller/guard.ts';
import { addWrite } from '../../platform/http/records.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { inviteEntry } from './activity.ts';
import { amendAfterwards } from './amended_answer.ts';
import { deactivated_detail, refuseDeactivated } from '../deactivation/store.ts';
import { memberDetail } from './check.ts';
import { shownToSender, withLink } from './link.ts';
import { sendInvites, writeInviteMails } from './mailing.ts';
import { countRecipients } from './recipient_limit.ts';
import { InviteWithLink } from './schema.ts';
import { deleteInvite, findInvite, getSender, listStandings, renewInvite } from './store.ts';
import type { StoredInvite } from './store.ts';

const url = '/api/organizations/:organization_id/invites/:id/';
/** Locks the organization: an invite is deleted, sent again or accepted one at a time. */
const config = {
  scope: 'organization_member:write',
  within: 'organization',
  locks_organization: true,
} as const;

/** Routes of one invite: delete it, send it again. */
export function recordRoutes(app: FastifyInstance, deps: Deps): void {
  deleteRoute(app, deps);
  resendRoute(app, deps);
}

function deleteRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    method: 'DELETE',
    url,
    config,
    summary: 'Delete an invite',
    description: 'The invite of another member needs level 8.',
    response: { 204: { type: 'null' } },
    work: async ({ request, tx, record }) => {
      const invite = await getInvite(request, tx, deps.clock.now());
      ifMatch(request, withLink(request, deps, invite));
      requireOwn(request, invite);
      await deleteInvite(tx, invite.record.id);
      record(inviteEntry('deleted', invite.record, undefined));
    },
  });
}

function resendRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: `${url}resend/`,
    config: { ...config, no_store: true },
    summary: 'Send an invite again',
    description:
      'The invite gets a new link, which works for 3 days. The old link stops working. ' +
      "Another's needs level 8, and none is sent by a level below its own. 429: the " +
      'address had 10 invites less than a day apart.',
    response: { 200: InviteWithLink },
    work: async ({ request, tx, record, afterwards }) => {
      const { organization_id, level } = request.access;
      const now_ms = deps.clock.now();
      const before = await getInvite(request, tx, now_ms);
      await refuseDeactivated(tx, personOf(request).user_id, 'invite people');
      body(request, NoFields);
      requireOwn(request, before);
      // The answer has the link, so nobody may get one above their own level.
      if (before.record.level > level)
        throw forbidden(
          `You can invite up to your own level: yours is ${level} (${level_names[level]}), ` +
            `the invite's is ${before.record.level}.`,
        );
      const [standing] = await listStandings(
        tx,
        organization_id,
        [before.record.target_email],
        level,
        now_ms,
      );
      if (standing !== undefined && standing.membership !== null)
        throw invalid(null, 'invalid_input', memberDetail(standing.membership));
      if (standing?.is_taken_out === true) throw invalid(null, 'invalid_input', deactivated_detail);
      await countRecipients(tx, deps, [{ email: before.record.target_email, attr: null }]);
      await renewInvite(tx, before.record.id, personOf(request).user_id, now_ms);
      const invite = await getInvite(request, tx, now_ms);
      const sender = await getSender(tx, organization_id, personOf(request).user_id);
      const mails = await writeInviteMails(tx, deps, sender, [invite]);
      const answer = shownToSender(request, deps, invite);
      const entry = inviteEntry('resent', before.record, invite.record);
      record({ ...entry, changes: [...entry.changes, secretChange('link', 'changed')] });
      amendAfterwards(request, 200, afterwards, answer, async () => {
        const [present] = await sendInvites(deps, mails, [invite]);
        return withLink(request, deps, present!);
      });
      return answer;
    },
  });
}

async function getInvite(
  request: FastifyRequest,
  tx: Transaction,
  now_ms: number,
): Promise<StoredInvite> {
  const id = uuidParameter(request, 'id');
  return (await findInvite(tx, request.access.organization_id, id, now_ms)) ?? missing();
}

/** Throws 403 below level 8 for an invite that another member created. */
function requireOwn({ caller, access }: FastifyRequest, { record }: StoredInvite): void {
  if (record.created_by?.id !== caller.user_id) requireLevel(access.level, 8);
}
