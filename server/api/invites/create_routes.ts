import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Deps } from '../../deps.ts';
import { isFields } from '../../platform/fields.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { readAside } from '../../platform/http/bodies/aside.ts';
import { large_body_size_bytes_max, readBody } from '../../platform/http/bodies/body.ts';
import { unstorableIn } from '../../platform/http/bodies/json_text.ts';
import { checked } from '../../platform/http/bodies/validator.ts';
import { attrOf } from '../../platform/http/bodies/violations.ts';
import { write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import { addWrite } from '../../platform/http/records.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { refuseDeactivated } from '../deactivation/store.ts';
import { inviteEntry } from './activity.ts';
import { amendAfterwards } from './amended_answer.ts';
import { checkInvites } from './check.ts';
import type { SentItem } from './check.ts';
import { shownToSender, withLink } from './link.ts';
import { sendInvites, writeInviteMails } from './mailing.ts';
import { countRecipients } from './recipient_limit.ts';
import { BulkAnswer, BulkBody, InviteWithLink, NewInvite, bulk_max } from './schema.ts';
import { getSender, insertInvites } from './store.ts';
import type { CreatedInvite, StoredInvite } from './store.ts';

const base = '/api/organizations/:organization_id/invites/';
/**
 * Locks the organization: an address has one invite, and nobody can join between the check and the
 * insertion.
 */
const config = {
  scope: 'organization_member:write',
  within: 'organization',
  locks_organization: true,
  no_store: true,
} as const;
/** Time for which an answer waits for the mails of a bulk; the remaining mails follow later. */
const bulk_wait_ms = 3_000;
const Items = Type.Array(Type.Unknown(), { minItems: 1, maxItems: bulk_max });

/** Routes that create invites: one, or up to a thousand at once. */
export function createRoutes(app: FastifyInstance, deps: Deps): void {
  singleRoute(app, deps);
  bulkRoute(app, deps);
}

function singleRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: base,
    config,
    summary: 'Invite somebody, up to your own level',
    description:
      'Replaces an open invite for the address, and its link stops working. Sluice sends ' +
      'the mail before the answer, and retries for a day if the relay does not accept ' +
      'it. 429: the address got 10 invites within a day, counting all organizations.',
    body: NewInvite,
    response: { 201: InviteWithLink },
    work: async ({ request, tx, record, afterwards }) => {
      const { created, mails } = await createInvites(deps, request, tx, [
        { value: readBody(request).value, prefix: '' },
      ]);
      const invite = created[0]!;
      const answer = shownToSender(request, deps, invite);
      record(inviteEntry('created', undefined, withReplaced(invite.record, invite)));
      amendAfterwards(request, 201, afterwards, answer, async () => {
        const [present] = await sendInvites(deps, mails, created);
        return withLink(request, deps, present!);
      });
      return answer;
    },
  });
}

function bulkRoute(app: FastifyInstance, deps: Deps): void {
  app.post(
    `${base}bulk/`,
    {
      bodyLimit: large_body_size_bytes_max,
      config,
      schema: {
        summary: 'Invite several people at once',
        description:
          'A list of invites, `{"invites": [...]}`, or one invite; all or nothing. The answer is ' +
          'the first invite with the list of all under `results`. The request waits 3 seconds ' +
          'for the mails. Sluice sends the rest later, and the list of invites shows it. 429 ' +
          'names the addresses that got 10 invites within a day.',
        body: BulkBody,
        response: { 200: BulkAnswer },
      },
    },
    async (request, reply) => {
      await readAside(request);
      return write(request, reply, 200, async (tx, record, afterwards) => {
        const { created, mails } = await createInvites(
          deps,
          request,
          tx,
          itemsOf(readBody(request).value),
        );
        const answerOf = (invites: StoredInvite[]) =>
          bulkAnswer(invites.map((invite) => shownToSender(request, deps, invite)));
        const answer = answerOf(created);
        record(bulkEntry(created));
        amendAfterwards(request, 200, afterwards, answer, async () =>
          answerOf(await sendInvites(deps, mails, created, bulk_wait_ms)),
        );
        return answer;
      });
    },
  );
}

async function createInvites(
  deps: Deps,
  request: FastifyRequest,
  tx: Transaction,
  items: SentItem[],
): Promise<{ created: CreatedInvite[]; mails: string[] }> {
  const { access } = request;
  const caller = personOf(request);
  await refuseDeactivated(tx, caller.user_id, 'invite people');
  const now_ms = deps.clock.now();
  const { organization_id } = access;
  const fields = await checkInvites(tx, access, items, now_ms);
  await countRecipients(
    tx,
    deps,
    fields.map(({ target_email }, index) => ({
      email: target_email,
      attr: attrOf(items[index]!.prefix, 'target_email'),
    })),
  );
  const created = await insertInvites(tx, organization_id, caller.user_id, fields, now_ms);
  const sender = await getSender(tx, organization_id, caller.user_id);
  return { created, mails: await writeInviteMails(tx, deps, sender, created) };
}

/** Returns the extra fields of a new invite's activity entry. */
function withReplaced<Fields extends object>(
  fields: Fields,
  { replaced_invite }: CreatedInvite,
): Fields & { replaced_invite?: string } {
  return replaced_invite === null ? fields : { ...fields, replaced_invite };
}

/**
 * Each address has a field of its own, because a long value is cut, and every invite must leave a
 * trace.
 */
function bulkEntry(created: CreatedInvite[]): Entry {
  const invites = Object.fromEntries(
    created.map((invite) => [
      invite.record.target_email,
      withReplaced({ level: invite.record.level, first_name: invite.record.first_name }, invite),
    ]),
  );
  return {
    ...inviteEntry('bulk_created', undefined, created[0]!.record),
    changes: changesOf(undefined, { invites }),
  };
}

function bulkAnswer(results: InviteWithLink[]) {
  return { ...results[0]!, count: results.length, next: null, previous: null, results };
}

/**
 * Returns the items of a bulk, in any of its forms; each is named by its index. Throws 400 for an
 * empty bulk, and for more than a thousand items.
 */
function itemsOf(sent: unknown): SentItem[] {
  const isWrapped = isFields(sent) && Object.hasOwn(sent, 'invites');
  const { invites, ...rest } = (isWrapped ? sent : {}) as { invites?: unknown };
  const list = isWrapped ? invites : isFields(sent) ? [sent] : sent;
  return checked(Items, list, isWrapped ? '/invites' : '', unstorableIn(rest)).map(
    (value, index) => ({ value, prefix: `/${index}` }),
  );
}
