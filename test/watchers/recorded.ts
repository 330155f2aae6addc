import assert from 'node:assert/strict';
import sql from 'sql-template-tag';
import { protocols } from '../../server/api/capture/protocols.ts';
import type { Database } from '../../server/platform/postgres/database.ts';

const maintains = 'No row changes; the history of the table tells of the files.';
const tries = 'Tries a destination; what it writes there it takes away again.';
const reads_request = 'Says what an assistant asks for, and stores nothing.';
const reads = 'Reads events and changes nothing.';
const commits = 'Rows are the data of a project; the snapshots of a table tell of each commit.';

const doors = protocols.flatMap(({ match, settings }) => [...match, ...settings]);
const posted = protocols
  .flatMap(({ match, settings }) => [
    ...match.filter(({ methods }) => methods?.includes('POST') ?? true),
    ...settings.filter(({ methods }) => methods?.includes('POST') ?? false),
  ])
  .flatMap(({ paths }) => paths)
  .map((path) => [`POST ${path}`, 'Events are the data of a project; settings are read.'] as const);

/**
 * Routes without changes for the activity log, and why. Every other change uses `write()` and
 * leaves exactly one entry.
 */
export const not_recorded: Record<string, string> = {
  ...Object.fromEntries(posted),
  'POST /api/projects/:project_id/events/':
    'Events are the data of a project, many in one request; the store of events has them.',
  'POST /api/projects/:project_id/refused_events/resend/': 'Events are the data of a project.',
  'POST /api/projects/:project_id/refused_events/:id/resend/': 'Events are the data of a project.',
  'POST /api/projects/:project_id/batch_exports/test/': tries,
  'POST /api/projects/:project_id/batch_exports/:id/test/': tries,
  'POST /api/projects/:project_id/batch_exports/preview/': reads,
  'POST /api/projects/:project_id/batch_exports/:id/preview/': reads,
  'POST /api/projects/:project_id/batch_exports/:id/effect/': reads,
  'POST /api/projects/:project_id/erasures/preview/': reads,
  'POST /api/projects/:project_id/ingestion_rules/try/': 'Looks at a text and stores nothing.',
  'POST /api/projects/:project_id/notice_targets/:id/test/': 'Sends one notice and stores nothing.',
  'POST /api/organizations/:organization_id/notice_targets/:id/test/':
    'Sends one notice and stores nothing.',
  'POST /api/projects/:project_id/plugin_configs/choices/': 'Asks a tool and keeps nothing.',
  'POST /api/projects/:project_id/plugin_configs/preview/': reads,
  'POST /api/projects/:project_id/plugin_configs/try_out/': 'Runs code once and keeps nothing.',
  'POST /api/projects/:project_id/query/validate/': 'Looks at a text and stores nothing.',
  'POST /api/sessions/passkey/begin/': 'Gives a challenge and stores nothing.',
  'POST /iceberg/v1/:project_id/namespaces/:namespace/tables/:table/metrics': 'Stores nothing.',
  'POST /iceberg/v1/:project_id/namespaces/:namespace/tables/:table/sign':
    'Signs a request and stores nothing.',
  'POST /iceberg/v1/:project_id/transactions/commit': commits,
  'POST /api/projects/:project_id/lake_tables/:id/maintain/': maintains,
  'POST /api/organizations/:organization_id/batch_exports/:id/maintain/': maintains,
  'POST /api/projects/:project_id/batch_exports/:id/maintain/': maintains,
  'POST /mcp': 'Hands on what a tool asks to the routes, which record it.',
  'POST /api/organizations/:organization_id/batch_exports/test/': tries,
  'POST /api/organizations/:organization_id/batch_exports/:id/test/': tries,
  'POST /api/organizations/:organization_id/batch_exports/preview/': reads,
  'POST /api/organizations/:organization_id/batch_exports/:id/preview/': reads,
  'POST /api/organizations/:organization_id/batch_exports/:id/effect/': reads,
  'POST /api/organizations/:organization_id/connections/test/': tries,
  'POST /api/organizations/:organization_id/connections/:id/test/': tries,
  'POST /api/organizations/:organization_id/domains/provider_metadata/':
    'Looks at a text and stores nothing.',
  'POST /api/personal_api_keys/agents/preview/': reads_request,
  'POST /api/setup_links/open/': 'Shows what the link is for.',
  'POST /api/setup_links/provider_metadata/': 'Looks at a text and stores nothing.',
  'POST /api/setup_links/test_sign_in/': 'Gives the address of a test and stores nothing.',
  'POST /api/organizations/:organization_id/configuration/plan/':
    'Keeps a plan for an hour; what it rehearses is rolled back.',
};

/** Routes whose `write()` may find that there is nothing to do, and when. */
const may_record_nothing: Record<string, string> = {
  'POST /oauth/token': 'The grant is the same; only the value of its key is the next one.',
  'POST /oauth/revoke': 'The token is unknown, or has ended already.',
  'POST /api/projects/:project_id/batch_exports/:id/backfill/': 'A dry run.',
  'POST /api/organizations/:organization_id/batch_exports/:id/backfill/': 'A dry run.',
  'POST /api/projects/:project_id/batch_exports/:batch_export_id/backfills/': 'A dry run.',
  'POST /api/organizations/:organization_id/batch_exports/:batch_export_id/backfills/':
    'A dry run.',
  'POST /api/organizations/:organization_id/domains/:id/test_sign_in/':
    'A test signs nobody in and changes nothing.',
  'POST /api/organizations/:organization_id/pipeline_destinations/:id/upgrade/':
    'The version is installed already.',
  'POST /api/organizations/:organization_id/pipeline_frontend_apps/:id/upgrade/':
    'The version is installed already.',
  'POST /api/organizations/:organization_id/pipeline_import_apps/:id/upgrade/':
    'The version is installed already.',
  'POST /api/projects/:project_id/plugin_configs/:id/replays/': 'A dry run.',
  'POST /api/projects/:project_id/plugin_configs/:id/set_aside/discard/': 'A dry run.',
  'POST /api/projects/:project_id/plugin_configs/:id/oauth/connect/':
    'The entry comes when the vendor leads the browser back.',
  'POST /api/projects/:project_id/planned_events/import/': 'The plan has it all already.',
  'POST /api/projects/:project_id/schema_columns/freeze/':
    'All of them have their columns already.',
  'POST /api/organizations/:organization_id/configuration/apply/': 'The plan is empty.',
  'POST /iceberg/v1/:project_id/namespaces/:namespace/tables/:table': commits,
  'POST /iceberg/v1/:project_id/namespaces/:namespace/tables':
    'The table is only prepared (stage-create).',
  'DELETE /api/organizations/:organization_id/members/:user__uuid/sessions/':
    'The member is signed in nowhere.',
  'POST /api/users/reset_password/':
    'The link is created, and recorded, beside the answer, and only when there is such an account.',
};

/** Routes with entries of their own for several objects, and which. */
const may_record_more: Record<string, string> = {
  'POST /api/organizations/:organization_id/configuration/apply/':
    'One for each object that is only taken over or given another key.',
  ...Object.fromEntries(
    [
      'PATCH /api/organizations/:organization_id/domains/:id/scim/groups/:group_id/',
      'PUT /api/organizations/:organization_id/domains/:id/scim/groups/:group_id/',
      'POST /scim/v2/:domain_id/Groups',
      'PUT /scim/v2/:domain_id/Groups/:id',
      'PATCH /scim/v2/:domain_id/Groups/:id',
      'DELETE /scim/v2/:domain_id/Groups/:id',
    ].map((name) => [name, 'One for each member whose level the groups change.'] as const),
  ),
};

/**
 * A PATCH or PUT that changes nothing leaves no entry; `write()` ensures that one that does leaves
 * its own.
 */
const may_change_nothing = /^(PATCH|PUT) /;

const patternsOf = (routes: Record<string, string>) =>
  Object.keys(routes).map((name) => new RegExp(`^${name.replaceAll(/:\w+/g, '[^/]+')}$`));
const not_looked_at = [
  ...patternsOf(not_recorded),
  // Issues a token and stores nothing.
  /^POST \/iceberg\/v1\/oauth\/tokens$/,
  // The id of a client is its registration, so nothing is stored.
  /^POST \/oauth\/register$/,
  // A list of SCIM that is requested by POST.
  /^POST \/scim\/v2\/[^/]+\/(?:\w+\/)?\.search$/,
  // Requests of SDKs for other things change nothing, and their paths also work without a slash.
  ...doors.flatMap(({ paths }) =>
    paths.map((path) => new RegExp(`^POST ${path.replaceAll(/:\w+/g, '[^/]+')}?$`)),
  ),
];
const may_be_none = [...patternsOf(may_record_nothing), may_change_nothing];
const may_be_more = patternsOf(may_record_more);

/** Remembers every successful change of a test. */
export type RecordedChanges = {
  see(
    method: string,
    path: string,
    answer: { status: number; headers: Record<string, unknown> },
    sent: Record<string, string>,
  ): void;
  /**
   * Fails unless each change since the last check left exactly one entry in each log that it
   * concerns, and at least one.
   */
  check(db: Database): Promise<void>;
};

/** Starts to watch. Requests with an id of their own are ignored, because several may share it. */
export function watchChanges(): RecordedChanges {
  const changes = new Map<string, string>();
  return {
    see: (method, path, { status, headers }, sent) => {
      const [plain = '', query = ''] = path.split('?');
      const name = `${method} ${plain}`;
      const isChange =
        !['GET', 'HEAD', 'OPTIONS'].includes(method) &&
        status >= 200 &&
        status < 300 &&
        !query.includes('validate_only=true');
      if (
        !isChange ||
        headers['idempotent-replayed'] === 'true' ||
        'x-request-id' in sent ||
        not_looked_at.some((pattern) => pattern.test(name))
      )
        return;
      changes.set(String(headers['x-request-id']), name);
    },
    check: async (db) => {
      const asked = [...changes];
      changes.clear();
      const rows = await db.rows<{ id: string; entries: number }>(
        sql`SELECT id, max(entries)::integer AS entries FROM (
          SELECT request_id AS id, count(*) AS entries FROM activity
            WHERE request_id = ANY (${asked.map(([id]) => id)}::text[])
            GROUP BY request_id, chain_id) counted GROUP BY id`,
      );
      const entries = new Map(rows.map((row) => [row.id, row.entries]));
      const wrong = asked.flatMap(([id, name]) => {
        const found = entries.get(id) ?? 0;
        const exceptions = found === 0 ? may_be_none : may_be_more;
        return found === 1 || exceptions.some((pattern) => pattern.test(name))
          ? []
          : [`${name}: ${found}`];
      });
      assert.deepEqual(
        [...new Set(wrong)],
        [],
        'Every change that succeeds leaves exactly one entry in each log that it concerns.',
      );
    },
  };
}
