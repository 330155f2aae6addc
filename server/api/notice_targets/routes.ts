import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { secretChange } from '../../platform/activity/changes.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { missing } from '../../platform/http/errors.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { mountsOf } from '../../platform/http/caller/mount.ts';
import type { Mount } from '../../platform/http/caller/mount.ts';
import { addList, addRecord, addWrite, entryWriter } from '../../platform/http/records.ts';
import type { Records } from '../../platform/http/records.ts';
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

const entryOf = entryWriter(
  'notice_target',
  ({ name, address, url }: NoticeTargetRow) => name ?? address ?? url,
  ['last_updated_at', 'last_attempt', 'last_test', 'managed_by'],
);
const recordsOf = ({ base, within }: Mount): Records<NoticeTargetRow> => ({
  url: `${base}:id/`,
  answer: NoticeTarget,
  reading: { scope: 'batch_export:read', within },
  changing: { scope: 'batch_export:write', within },
  get: (db, request, lock) => getTarget(db, request, undefined, lock),
  entry: entryOf,
});

/**
 * Routes of notice targets: list, create, retrieve, change, delete, test, under organizations and
 * projects.
 */
export function noticeTargetRoutes(app: FastifyInstance, deps: Deps): void {
  for (const mount of mountsOf('notice_targets')) {
    listRoutes(app, deps, mount);
    recordRoutes(app, deps, mount);
    testRoute(app, deps, mount);
  }
}

function listRoutes(app: FastifyInstance, deps: Deps, { base, within }: Mount): void {
  const where = within === 'organization' ? 'all projects of the organization' : 'the project';
  addList(app, {
    url: base,
    config: { scope: 'batch_export:read', within },
    summary: `List the notice targets of ${where}, newest first`,
    answer: NoticeTarget,
    rows: ({ access }) => listNoticeTargets(access),
  });

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
  addWrite(app, {
    url: base,
    config,
    ...schema,
    work: async ({ request, tx, record }) => {
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
    },
  });
}

function recordRoutes(app: FastifyInstance, deps: Deps, mount: Mount): void {
  addRecord(app, recordsOf(mount), {
    retrieve: { summary: 'Retrieve a notice target' },
    change: {
      description:
        'The type cannot change. Another `url` needs the `secret` with it. Waiting deliveries go ' +
        'to the new address, with the new secret.',
      patch: { summary: 'Change the sent fields of a notice target', body: NoticeTargetPatch },
      put: {
        summary: 'Change a notice target; absent fields keep their values',
        body: NoticeTargetPatch,
      },
      apply: async ({ tx, request, before }) => {
        await refuseMails(tx, request, before);
        const { has_new_url, has_new_secret } = await changeTarget(deps, tx, before, request);
        // Another address of the same host may look like the old one.
        return ({ url }) => [
          ...(has_new_url && url === before.url ? [secretChange('url', 'changed')] : []),
          ...(has_new_secret ? [secretChange('secret', 'changed')] : []),
        ];
      },
    },
    remove: {
      summary: 'Delete a notice target',
      apply: ({ tx, before }) => deleteNoticeTarget(tx, before.id),
    },
  });
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
