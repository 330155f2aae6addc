import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { countRows } from '../../engine/privacy/erasures/count_rows.ts';
import type { Criteria } from '../../engine/privacy/erasures/criteria.ts';
import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import { caughtUpForAnswer } from '../../platform/clickhouse/topology/caught_up.ts';
import { isUuid } from '../../platform/uuid.ts';
import { body, rawBody } from '../../platform/http/bodies/body.ts';
import { invalid, notFound } from '../../platform/http/errors.ts';
import { query } from '../../platform/http/lists/query.ts';
import { whileWaiting } from '../../platform/http/while_waiting.ts';
import { addList, addWrite } from '../../platform/http/records.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { erasureEntry } from './entry.ts';
import { withExactNumbers } from './exact_numbers.ts';
import {
  CopiesQuery,
  Erasure,
  ErasureCopy,
  ErasurePreview,
  ErasureTool,
  NewErasure,
} from './schema.ts';
import type { ErasureRow } from './schema.ts';
import { createErasure, findErasure, listCopies, listErasureTools, listErasures } from './store.ts';

const base = '/api/projects/:project_id/erasures/';
const reading = { scope: 'project:read', within: 'project' } as const;

/** Routes of `/api/projects/:project_id/erasures/`: request an erasure, and read its progress. */
export function erasureRoutes(app: FastifyInstance, deps: Deps): void {
  listRoute(app, deps);
  createRoute(app, deps);
  previewRoute(app, deps);
  recordRoutes(app, deps);
  toolRoute(app, deps);
}

const shown = ({ secrets }: Deps, row: ErasureRow): Static<typeof Erasure> => ({
  ...row,
  public_key: secrets.public_key,
});

function listRoute(app: FastifyInstance, deps: Deps): void {
  addList(app, {
    url: base,
    config: reading,
    summary: 'List the erasures of a project, newest first',
    answer: Erasure,
    rows: ({ access }) => listErasures(access.team_id!),
    shown: (row: ErasureRow) => shown(deps, row),
  });
}

function createRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: base,
    config: { scope: 'project:write', within: 'project', level: 8 },
    summary: 'Erase persons, or the events that a filter matches',
    description:
      'Send `distinct_ids` or `person_ids`, or a `filter`. Level in the organization: 8 or ' +
      'higher. It cannot be undone. The server works on it by itself, also after a ' +
      'restart: it deletes rows from the store, rewrites deliveries at destinations where ' +
      'possible, and certifies the result. Rows stored before it starts are erased; later ' +
      'events of the persons go by `late_events`. docs/erasure.md says more.',
    body: NewErasure,
    response: { 201: Erasure },
    work: async ({ request, tx, record }) => {
      const { criteria, late_events = 'refuse' } = askedIn(request);
      const row = await createErasure(tx, deps.secrets, {
        organization_id: request.access.organization_id,
        team_id: request.access.team_id!,
        criteria,
        late_events,
        created_by: request.caller.user_id,
      });
      record(erasureEntry(row));
      return shown(deps, row);
    },
  });
}

function previewRoute(app: FastifyInstance, { db, clickhouse }: Deps): void {
  app.post(
    `${base}preview/`,
    {
      config: { scope: 'project:write', within: 'project', level: 8 },
      schema: {
        summary: 'Count what an erasure would delete from the store',
        description:
          'Accepts the body of an erasure, and changes nothing. The counts are current: rows ' +
          'stored before the erasure starts are erased too.',
        body: NewErasure,
        response: { 200: ErasurePreview },
      },
    },
    (request) => {
      const { criteria } = askedIn(request);
      const { team_id } = request.access;
      return whileWaiting((signal) =>
        caughtUpForAnswer(clickhouse, row_tables, () =>
          countRows({ db, clickhouse }, team_id!, criteria, signal),
        ),
      );
    },
  );
}

/** Reads the criteria of the body. Throws 400 unless it names either persons or events. */
function askedIn(request: FastifyRequest) {
  const { late_events, ...asked } = body(request, NewErasure);
  const criteria = criteriaOf(asked);
  if (criteria.kind === 'persons') return { criteria, late_events };
  const filter = withExactNumbers(criteria.filter, rawBody(request)!);
  return { criteria: { ...criteria, filter }, late_events };
}

function criteriaOf({ distinct_ids, person_ids, filter }: Static<typeof NewErasure>): Criteria {
  const isOfPersons = distinct_ids !== undefined || person_ids !== undefined;
  if (filter !== undefined && isOfPersons)
    throw invalid('filter', 'invalid_input', 'Send persons or a filter, not both.');
  if (isOfPersons)
    return { kind: 'persons', distinct_ids: distinct_ids ?? [], person_ids: person_ids ?? [] };
  if (filter === undefined)
    throw invalid('distinct_ids', 'required', 'Send `distinct_ids`, `person_ids` or `filter`.');
  if (Object.values(filter).every((value) => value === undefined))
    throw invalid('filter', 'required', 'Send at least one condition.');
  const { after, before } = filter;
  if (after !== undefined && before !== undefined && Date.parse(after) >= Date.parse(before))
    throw invalid('filter__before', 'invalid_input', 'The end must be after the start.');
  return { kind: 'events', filter };
}

function recordRoutes(app: FastifyInstance, deps: Deps): void {
  app.get(
    `${base}:id/`,
    {
      config: reading,
      schema: {
        summary: 'Retrieve an erasure with its progress and its certificate',
        response: { 200: Erasure },
      },
    },
    async (request) => shown(deps, await getErasure(request, deps.db)),
  );
  addList(app, {
    url: `${base}:id/copies/`,
    config: reading,
    summary: "List the deliveries of an erasure's rows to destinations",
    querystring: CopiesQuery,
    answer: ErasureCopy,
    rows: async (request) => {
      const { state } = query(request, CopiesQuery);
      const { id } = await getErasure(request, deps.db);
      return listCopies(id, state);
    },
  });
}

function toolRoute(app: FastifyInstance, { db }: Deps): void {
  addList(app, {
    url: `${base}:id/tools/`,
    config: reading,
    summary: 'List the plugins that received events of the persons, and which were notified',
    description: 'Sluice notifies catalogue tools that can delete a person of each id.',
    answer: ErasureTool,
    rows: async (request) => {
      const { id } = await getErasure(request, db);
      return listErasureTools(id);
    },
  });
}

async function getErasure(request: FastifyRequest, db: Queryable): Promise<ErasureRow> {
  const { id = '' } = request.params as { id?: string };
  const row = isUuid(id) ? await findErasure(db, request.access.team_id!, id) : undefined;
  if (row === undefined) throw notFound();
  return row;
}
