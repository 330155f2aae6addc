import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import type { Deps } from '../../deps.ts';
import type { Caller } from '../../platform/http/caller/access.ts';
import { beginBody } from '../../platform/http/bodies/body.ts';
import { forbidden, invalid, missing } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { inTurn } from '../../platform/http/limits/heavy_turns.ts';
import { inWriteTurn } from '../../platform/http/limits/owner_turns.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { lockOutWriters } from '../../platform/http/confirm_access.ts';
import { write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import { addList, addRecord, addRoute, entryWriter } from '../../platform/http/records.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { isTimezone } from '../../platform/timezone.ts';
import { addressFaults } from './addresses.ts';
import { Project, ProjectCreate, ProjectPatch, ProjectPut } from './schema.ts';
import type { ProjectRow } from './schema.ts';
import {
  deleteProject,
  findHome,
  findProject,
  insertProject,
  listProjects,
  selectProject,
  updateProject,
} from './store.ts';

const url = '/api/projects/:id/';
const one = { within: 'project' } as const;
const changing = { ...one, scope: 'project:write', level: 8 } as const;

/** The log is that of the organization, also where the path does not hold it. */
function entryOf(...given: Parameters<typeof projectEntry>): Entry {
  const [, before, after] = given;
  return { ...projectEntry(...given), chain: { organization_id: (after ?? before)!.organization } };
}

const projectEntry = entryWriter('project', ({ name }: ProjectRow) => name, [
  'updated_at',
  'managed_by',
]);

/** Routes of `/api/projects/`: list, create, retrieve, change, delete. */
export function projectRoutes(app: FastifyInstance, deps: Deps): void {
  listRoutes(app, deps);
  recordRoutes(app);
  deleteRoute(app);
}

function listRoutes(app: FastifyInstance, { db }: Deps): void {
  addList(app, {
    url: '/api/projects/',
    config: { scope: 'project:read', service_keys: true },
    summary: 'List the projects of all organizations of the caller, oldest first',
    answer: Project,
    rows: ({ caller }) => listProjects(caller),
  });
  addList(app, {
    url: '/api/organizations/:organization_id/projects/',
    config: { within: 'organization', scope: 'project:read' },
    summary: 'List the projects of an organization, oldest first',
    answer: Project,
    rows: ({ caller, access }) => listProjects(caller, access.organization_id),
  });
  addRoute(app, {
    method: 'POST',
    url: '/api/projects/',
    config: { scope: 'project:write', service_keys: true },
    summary: 'Create a project',
    description: 'Level in the organization: 8 or higher.',
    body: ProjectCreate,
    response: { 201: Project },
    handler: async (request, reply) => {
      const { organization, name, timezone = 'UTC' } = wholeBody(request, ProjectCreate);
      const home = await findHome(db, request.caller, organization);
      return inWriteTurn(home?.organization_id, () =>
        write(request, reply, 201, async (tx, record) => {
          const created = await insertProject(tx, {
            organization_id: await homeOf(tx, request.caller, organization),
            name,
            timezone,
          });
          record(entryOf('created', undefined, created));
          return created;
        }),
      );
    },
  });
}

function recordRoutes(app: FastifyInstance): void {
  addRecord(
    app,
    {
      url,
      answer: Project,
      reading: { ...one, scope: 'project:read', record: selectProject },
      changing,
      get: async (db: Queryable, { access }: FastifyRequest, lock?: 'lock') =>
        (await findProject(db, access.team_id!, lock)) ?? missing(),
      entry: entryOf,
    },
    {
      retrieve: { summary: 'Retrieve a project' },
      change: {
        patch: { summary: 'Change the sent fields of a project', body: ProjectPatch },
        put: {
          summary: 'Change a project; what may be left out keeps its value',
          body: ProjectPut,
        },
        apply: ({ tx, request, before, schema }) =>
          updateProject(tx, before.id, wholeBody(request, schema)),
      },
    },
  );
}

function deleteRoute(app: FastifyInstance): void {
  addRoute(app, {
    method: 'DELETE',
    url,
    config: { ...changing, locks_organization: true },
    summary: 'Delete a project with its exports',
    response: { 204: { type: 'null' } },
    handler: (request, reply) =>
      inTurn(request, () =>
        write(request, reply, 204, async (tx, record) => {
          const id = request.access.team_id!;
          // A check deletes nothing, and waits for nobody.
          const isKept = isValidateOnly(request);
          if (!isKept) await lockOutWriters(tx, request.access.organization_id);
          const before = (await findProject(tx, id, 'lock')) ?? missing();
          ifMatch(request, before);
          record(entryOf('deleted', before, undefined));
          if (!isKept) await deleteProject(tx, id);
        }),
      ),
  });
}

/**
 * Returns the organization for the caller's new project. An organization of others gets the same
 * answer as an unknown one.
 */
async function homeOf(
  tx: Transaction,
  caller: Caller,
  organization: string | undefined,
): Promise<string> {
  if (caller.scoped_teams !== null)
    throw forbidden('A key that is limited to projects cannot create a project.');
  const home = await findHome(tx, caller, organization, 'lock');
  if (home === undefined)
    throw invalid(
      'organization',
      'invalid_input',
      organization === undefined
        ? 'The caller belongs to no organization: create one first.'
        : 'The caller does not belong to this organization.',
    );
  if (home.level < 8)
    throw forbidden('This needs the level 8 (administrator) in the organization.');
  return home.organization_id;
}

/**
 * Returns the checked body, with its time zone and addresses. Throws a 400 that lists every
 * violation.
 */
function wholeBody<Schema extends TObject>(
  request: FastifyRequest,
  schema: Schema,
): Static<Schema> {
  const { sent, endWith } = beginBody(request, schema);
  const { timezone, internal_addresses } = sent;
  const detail = 'Must be a name of the IANA time zone database, such as Europe/Berlin.';
  const wrong: Violation[] = addressFaults(internal_addresses);
  if (typeof timezone === 'string' && !isTimezone(timezone))
    wrong.push({ attr: 'timezone', code: 'invalid_choice', detail });
  return endWith(wrong);
}
