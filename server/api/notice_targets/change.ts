import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Deps } from '../../deps.ts';
import { notice_events } from '../../engine/notices/notice.ts';
import { findTarget, openTarget, secretContext } from '../../engine/notices/outbox.ts';
import type { Target } from '../../engine/notices/outbox.ts';
import { pagerduty_url } from '../../engine/notices/services.ts';
import { storedUrl } from '../../engine/notices/webhook_url.ts';
import { beginBody } from '../../platform/http/bodies/body.ts';
import { conflict, invalid, notFound } from '../../platform/http/errors.ts';
import { movedSecrets } from '../../platform/http/bodies/moved_secrets.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { newWebhookSecret } from '../../platform/outbound/standard_webhooks.ts';
import { findTargetProject } from '../batch_exports/store.ts';
import { isPutOut, putOut } from '../deactivation/store.ts';
import { wrongFields } from './input.ts';
import { NoticeTargetCreate, NoticeTargetPatch } from './schema.ts';
import type { NoticeTargetRow } from './schema.ts';
import { insertNoticeTarget, listNoticeTargets, updateNoticeTarget } from './store.ts';

const targets_max = 50;
/** The actions that a person cannot do after a directory has deactivated them. */
export const no_mails = 'let mails be sent';

/**
 * Creates the target of the request; returns its id, and the secret if the server created it.
 * Throws 400 for an invalid body, and 409 if the project has 50 targets. Throws 403 for mails, if a
 * directory has deactivated the caller.
 */
export async function createTarget(
  deps: Deps,
  tx: Transaction,
  request: FastifyRequest,
): Promise<{ id: string; secret: string | null }> {
  const { passed, endWith } = beginBody(request, NoticeTargetCreate);
  const team_id = await projectOf(tx, request, passed.team_id);
  const {
    type,
    secret: own_secret,
    ...fields
  } = endWith(
    await wrongFields(
      { db: tx, outbound: deps.outbound },
      { team_id, type: passed.type, is_new: true },
      passed,
    ),
  );
  const { organization_id } = request.access;
  const { count, is_out } = (await tx.row<{ count: number; is_out: boolean }>(sql`
    SELECT (${listNoticeTargets({ organization_id, team_id }).count}) AS count,
      ${isPutOut(sql`${request.caller.user_id}::integer`)} AS is_out`))!;
  if (type === 'email' && is_out) throw putOut(no_mails);
  if (count >= targets_max)
    throw conflict(`The project has ${targets_max} notice targets, the maximum: delete one first.`);
  const id = uuidv7();
  const created_secret = type === 'webhook' && own_secret === undefined ? newWebhookSecret() : null;
  const secret = own_secret ?? created_secret;
  const url = fields.url ?? (type === 'pagerduty' ? pagerduty_url : null);
  await insertNoticeTarget(tx, {
    id,
    team_id,
    type,
    name: fields.name ?? null,
    address: fields.address ?? null,
    ...(typeof url === 'string'
      ? storedUrl(deps.secrets, id, url)
      : { url: null, url_sealed: null }),
    secret: secret === null ? null : deps.secrets.seal(secret, secretContext(id)),
    events: [...new Set(fields.events ?? notice_events)],
    batch_export_ids: fields.batch_export_ids ?? null,
    enabled: fields.enabled ?? true,
    created_by: request.caller.user_id,
  });
  return { id, secret: created_secret };
}

/**
 * Applies the body of a PATCH or PUT to a target that the caller has locked; returns whether its
 * address or secret has changed. Throws 400 for an invalid body.
 */
export async function changeTarget(
  deps: Deps,
  tx: Transaction,
  before: NoticeTargetRow,
  request: FastifyRequest,
): Promise<{ has_new_url: boolean; has_new_secret: boolean }> {
  const { passed, endWith } = beginBody(request, NoticeTargetPatch);
  const { url: sent_url, ...others } = passed;
  const stored = storedPlace(deps, await findTarget(tx, before.id));
  // Sending back the shown or the stored address changes nothing.
  const url = sent_url === before.url || sent_url === stored.url ? undefined : sent_url;
  const found = [
    ...movedSecrets(webhook_places, stored, typeof url === 'string' ? { ...stored, url } : stored, {
      sent: new Set(others.secret === undefined ? [] : ['secret']),
    }),
    ...(await wrongFields(
      { db: tx, outbound: deps.outbound },
      { ...before, is_new: false },
      { ...others, ...(url === undefined ? {} : { url }) },
    )),
  ];
  const { url: _url, secret: sent_secret, events, ...fields } = endWith(found);
  const secret = sent_secret === stored.secret ? undefined : sent_secret;
  await updateNoticeTarget(tx, before.id, {
    ...fields,
    ...(typeof url === 'string'
      ? { ...storedUrl(deps.secrets, before.id, url), held_until: null }
      : {}),
    ...(fields.enabled === true ? { disabled_reason: null } : {}),
    ...(events === undefined ? {} : { events: [...new Set(events)] }),
    ...(secret === undefined
      ? {}
      : { secret: deps.secrets.seal(secret, secretContext(before.id)) }),
  });
  return { has_new_url: typeof url === 'string', has_new_secret: secret !== undefined };
}

/** The secret field of a target, and the field with the address of its signed requests. */
const webhook_places = { secrets: ['secret'], where: ['url'] };

/**
 * Returns the whole address and the secret of a target, if its type has them. Never log or answer
 * them.
 */
function storedPlace(
  { secrets }: Deps,
  target: Target | undefined,
): { url?: string; secret?: string } {
  if (target === undefined || target.type === 'email') return {};
  const { url, secret } = openTarget(secrets, target);
  return { url, ...(secret === undefined ? {} : { secret }) };
}

async function projectOf(
  tx: Transaction,
  request: FastifyRequest,
  wanted: number | undefined,
): Promise<number> {
  const project = await findTargetProject(tx, request.access, wanted, 'lock');
  if (project !== undefined) return project.id;
  if (request.access.team_id !== undefined) throw notFound();
  throw invalid(
    'team_id',
    'invalid_input',
    'The organization has no such project. Send the id of one of its projects.',
  );
}
