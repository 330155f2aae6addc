import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { changesOf, secretChange } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { missing } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { PageQuery, answerPage, pageOf } from '../../platform/http/lists/pagination.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import { mountsOf } from '../../platform/http/caller/mount.ts';
import type { Mount } from '../../platform/http/caller/mount.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { refuseDeactivated } from '../deactivation/store.ts';
import { changeTarget, createTarget, no_mails } from './change.ts';
import {
  NewNoticeTarget,
  NoticeTarget,
  NoticeTargetCreate,
  NoticeTargetPatch,
  NoticeTargetTest,
} from './schema.ts';
import type { NoticeTargetRow } from './schema.ts';
import { deleteNoticeTarget, findNoticeTarget, listNoticeTargets } from './store.ts';
import { tryTarget } from './try_target.ts';

/**
 * Routes of notice targets: list, create, retrieve, change, delete, test, under organizations and
 * projects.
 */
export function noticeTargetRoutes(app: FastifyInstance, deps: Deps): void {
  for (const mount of mountsOf('notice_targets')) {
    listRoutes(app, deps, mount);
    recordRoutes(app, deps, mount);
    deleteRoute(app, mount);
    testRoute(app, deps, mount);
  }
}

function listRoutes(app: FastifyInstance, deps: Deps, { base, within }: Mount): void {
  const where = within === 'organization' ? 'all projects of the organization' : 'the project';
  app.get(
    base,
    {
      config: { scope: 'batch_export:read', within },
      schema: {
        summary: `List the notice targets of ${where}, newest first`,
        querystring: PageQuery,
        response: { 200: pageOf(NoticeTarget) },
      },
    },
    (request) => answerPage<NoticeTargetRow>(request, deps.db, listNoticeTargets(request.access)),
  );

  const description =
    'A notice reports each change once: an export fails, recovers, is late, has delivered an ' +
    'unusual number of rows, or was paused by the server. While a project has no target, the ' +
    'administrators of the organization get mails.';
  const schema = {
    summary: 'Create a notice target',
    description,
    body: NoticeTargetCreate,
    response: { 201: NewNoticeTarget },
  };
  const config = { scope: 'batch_export:write', within, no_store: true } as const;
  app.post(base, { config, schema }, (request, reply) =>
    write(request, reply, 201, async (tx, record) => {
      const { id, secret } = await createTarget(deps, tx, request);
      const created = await getTarget(tx, request, id);
      record(
        entryOf(
          'created',
          undefined,
          created,
          created.type === 'webhook' ? [secretChange('secret', 'created')] : [],
        ),
      );
      // `validate_only` creates no target, so the secret will never sign anything.
      return { ...created, secret: isValidateOnly(request) ? null : secret };
    }),
  );
}

function recordRoutes(app: FastifyInstance, deps: Deps, { base, within }: Mount): void {
  const one = `${base}:id/`;
  const changing = { scope: 'batch_export:write', within } as const;
  app.get(
    one,
    {
      config: { scope: 'batch_export:read', within },
      schema: { summary: 'Retrieve a notice target', response: { 200: NoticeTarget } },
    },
    (request) => getTarget(deps.db, request),
  );

  const change = (request: FastifyRequest, reply: FastifyReply) =>
    write(request, reply, 200, async (tx, record) => {
      const before = await getTarget(tx, request, uuidParameter(request, 'id'), 'lock');
      ifMatch(request, before);
      await refuseMails(tx, request, before);
      const { has_new_url, has_new_secret } = await changeTarget(deps, tx, before, request);
      const after = await getTarget(tx, request);
      // Another address of the same host may look like the old one.
      const unseen = [
        ...(has_new_url && after.url === before.url ? [secretChange('url', 'changed')] : []),
        ...(has_new_secret ? [secretChange('secret', 'changed')] : []),
      ];
      record(entryOf('updated', before, after, unseen), before);
      return after;
    });
  const description =
    'The type cannot change. Another `url` needs the `secret` with it. Waiting deliveries go ' +
    'to the new address, with the new secret.';
  const schema = (summary: string) => ({
    summary,
    description,
    body: NoticeTargetPatch,
    response: { 200: NoticeTarget },
  });
  app.patch(
    one,
    { config: changing, schema: schema('Change the sent fields of a notice target') },
    change,
  );
  app.put(
    one,
    {
      config: changing,
      schema: schema('Change a notice target; absent fields keep their values'),
    },
    change,
  );
}

function deleteRoute(app: FastifyInstance, { base, within }: Mount): void {
  app.delete(
    `${base}:id/`,
    {
      config: { scope: 'batch_export:write', within },
      schema: { summary: 'Delete a notice target', response: { 204: { type: 'null' } } },
    },
    (request, reply) =>
      write(request, reply, 204, async (tx, record) => {
        const before = await getTarget(tx, request, uuidParameter(request, 'id'), 'lock');
        ifMatch(request, before);
        record(entryOf('deleted', before, undefined, []));
        await deleteNoticeTarget(tx, before.id);
      }),
  );
}

function testRoute(app: FastifyInstance, deps: Deps, { base, within }: Mount): void {
  const description =
    'One attempt, at once, even if `events` or `enabled` exclude it. `last_test` of the ' +
    'target shows the result. PagerDuty gets an incident of severity `info` and its end. ' +
    'After ten tests in a row, the server slows the tests of the project.';
  const schema = {
    summary: 'Send a test notice to a target',
    description,
    response: { 200: NoticeTargetTest },
  };
  app.post(
    `${base}:id/test/`,
    { config: { scope: 'batch_export:write', within }, schema },
    async (request) => {
      const target = await getTarget(deps.db, request);
      await refuseMails(deps.db, request, target);
      body(request, NoFields);
      return tryTarget(deps, target, request);
    },
  );
}

/**
 * Returns the target of the path, or the one with the id, in the place of the path; throws 404 if
 * it does not exist.
 */
async function getTarget(
  db: Queryable,
  request: FastifyRequest,
  id = uuidParameter(request, 'id'),
  lock?: 'lock',
): Promise<NoticeTargetRow> {
  return (await findNoticeTarget(db, request.access, id, lock)) ?? missing();
}

/** Throws 403 if a directory has deactivated the person who would decide who gets mails. */
async function refuseMails(
  db: Queryable,
  { caller }: FastifyRequest,
  { type }: NoticeTargetRow,
): Promise<void> {
  if (type === 'email') await refuseDeactivated(db, caller.user_id, no_mails);
}

/** `unseen` are changes that the shown fields hide. */
function entryOf(
  activity: string,
  before: NoticeTargetRow | undefined,
  after: NoticeTargetRow | undefined,
  unseen: Change[],
): Entry {
  const { id, name, address, url } = (after ?? before)!;
  const changes = [
    ...changesOf(before, after, ['last_updated_at', 'last_attempt', 'last_test', 'managed_by']),
    ...unseen,
  ];
  return {
    activity,
    scope: 'notice_target',
    item_id: id,
    item_name: name ?? address ?? url,
    changes,
  };
}
