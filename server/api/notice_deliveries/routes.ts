import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import type { NoticeBody } from '../../engine/notices/notice.ts';
import { serviceBody } from '../../engine/notices/services.ts';
import { hidden_part } from '../../engine/notices/webhook_url.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { isoInstant } from '../../platform/clock.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { conflict, notFound } from '../../platform/http/errors.ts';
import { query } from '../../platform/http/lists/query.ts';
import { mountsOf } from '../../platform/http/caller/mount.ts';
import type { Mount } from '../../platform/http/caller/mount.ts';
import { addList, addRoute, addWrite } from '../../platform/http/records.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { refuseDeactivated } from '../deactivation/store.ts';
import { DeliveriesQuery, NoticeDelivery, NoticeDeliveryRecord } from './schema.ts';
import { findDelivery, listDeliveries, lockDelivery, sendAgain } from './store.ts';

/**
 * Routes of notices and their deliveries, under organizations and projects: list, retrieve, send
 * again.
 */
export function noticeDeliveryRoutes(app: FastifyInstance, deps: Deps): void {
  for (const mount of mountsOf('notice_deliveries')) {
    readingRoutes(app, deps, mount);
    sendRoute(app, deps, mount);
  }
}

function readingRoutes(app: FastifyInstance, deps: Deps, { base, within }: Mount): void {
  const { db } = deps;
  const config = { scope: 'batch_export:read', within } as const;
  addList(app, {
    url: base,
    config,
    summary: 'List the deliveries of notices, newest first',
    description: 'One for each notice and recipient; they are kept for 30 days.',
    querystring: DeliveriesQuery,
    answer: NoticeDelivery,
    rows: (request) => {
      const wanted = query(request, DeliveriesQuery);
      return listDeliveries(request.access, wanted);
    },
  });
  addRoute(app, {
    url: `${base}:id/`,
    config,
    summary: 'Retrieve a delivery with its content and attempts',
    response: { 200: NoticeDeliveryRecord },
    handler: (request) => getDelivery(deps, db, request),
  });
}

function sendRoute(app: FastifyInstance, deps: Deps, { base, within }: Mount): void {
  addWrite(app, {
    url: `${base}:id/send/`,
    config: { scope: 'batch_export:write', within },
    summary: 'Send a notice again, at once and with as many attempts as the first time',
    description:
      'Sends the same notice with the same id again, with the current address and secret ' +
      'of its target. 409 while an attempt is in progress, and while the target is off.',
    response: { 200: NoticeDeliveryRecord },
    work: async ({ request, tx, record }) => {
      const id = idOf(request);
      const locked = await lockDelivery(tx, request.access, id);
      if (locked === undefined) throw notFound();
      if (locked.is_mail) await refuseDeactivated(tx, request.caller.user_id, 'let mails be sent');
      body(request, NoFields);
      if (locked.is_under_way) throw conflict('An attempt is in progress. Wait for its end.');
      if (locked.is_target_off)
        throw conflict('The target is switched off: switch it on, then send again.');
      await sendAgain(tx, id, isoInstant(deps.clock.now()));
      const after = await getDelivery(deps, tx, request);
      record({
        activity: 'sent_again',
        scope: 'notice_delivery',
        item_id: String(id),
        item_name: after.event,
        changes: changesOf({}, { notice: after.notice, target: after.target }),
      });
      return after;
    },
  });
}

async function getDelivery(
  { config }: Deps,
  db: Queryable,
  request: FastifyRequest,
): Promise<NoticeDeliveryRecord> {
  const found = await findDelivery(db, request.access, idOf(request));
  if (found === undefined) throw notFound();
  const { type, ...record } = found;
  if (type === null || type === 'email' || type === 'webhook') return record;
  const notice = JSON.parse(record.body) as NoticeBody;
  return { ...record, body: serviceBody(type, config.public_url, notice, hidden_part) };
}

function idOf(request: FastifyRequest): number {
  const { id = '' } = request.params as { id?: string };
  if (!/^\d{1,15}$/.test(id)) throw notFound();
  return Number(id);
}
