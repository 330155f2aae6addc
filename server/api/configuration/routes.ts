import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { empty } from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { withBeforehand } from '../../platform/http/inner/beforehand.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { invalid, notFound } from '../../platform/http/errors.ts';
import { query } from '../../platform/http/lists/query.ts';
import { Problem } from '../../platform/http/responses.ts';
import { write } from '../../platform/http/write.ts';
import { addRoute } from '../../platform/http/records.ts';
import { applyPlan } from './apply.ts';
import { configurationSchema } from './json_schema.ts';
import { createPlan, keptPlan } from './plan.ts';
import { listManagedObjects } from './managed_objects.ts';
import { pullConfiguration, pullObject } from './pull.ts';
import {
  Applied,
  ApplyRequest,
  ManagedObjects,
  Plan,
  PlanRequest,
  Pulled,
  PulledQuery,
} from './schema.ts';
import { findPlan } from './store.ts';
import { yamlText } from './yaml_text.ts';

const base = '/api/organizations/:organization_id/configuration/';
/** Largest body of a plan, in bytes: 5 MiB. */
const plan_size_bytes_max = 5 * 1024 * 1024;
/** Most values of a plan: some ten thousand objects, read within a tenth of a second. */
const plan_values_max = 100_000;
const reading = { within: 'organization', scope: 'organization:read' } as const;

/**
 * Routes of `/api/organizations/:organization_id/configuration/`: the current state, plans,
 * applying them, and the JSON Schema of a configuration.
 */
export function configurationRoutes(app: FastifyInstance, deps: Deps): void {
  readingRoutes(app, deps);
  objectRoutes(app, deps);
  planRoute(app, deps);
  applyRoute(app, deps);
}

function readingRoutes(app: FastifyInstance, deps: Deps): void {
  let schema: Record<string, unknown> | undefined;
  addRoute(app, {
    url: '/api/configuration/schema/',
    config: { scope: 'public' },
    summary: 'The JSON Schema of a configuration',
    description: 'For editors: it is the same for everybody, and needs no key.',
    response: { 200: Type.Object({}, { additionalProperties: true }) },
    handler: () => (schema ??= configurationSchema()),
  });

  addRoute(app, {
    url: base,
    config: reading,
    summary: 'Retrieve the current state as a configuration',
    description:
      'The answer leaves out everything that the key may not read. Secrets are references; a ' +
      'plan of the answer changes nothing. With `kind` and `id` only that object, to be ' +
      'copied into files: this needs the scope of the kind, and of the kinds that it refers ' +
      'to.',
    querystring: PulledQuery,
    response: { 200: Pulled },
    handler: (request) => getFiles(deps, request),
  });

  addRoute(app, {
    url: `${base}plan/:hash/`,
    config: reading,
    summary: 'Retrieve a plan',
    description: 'Each kind in it needs its scope to read.',
    response: { 200: Plan },
    handler: async (request) => {
      const { hash } = request.params as { hash: string };
      const plan = await findPlan(deps.db, request.access.organization_id, hash, empty);
      if (plan === undefined) throw notFound();
      return keptPlan(plan.answer, request.caller.scopes);
    },
  });
}

function objectRoutes(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    url: `${base}objects/`,
    config: reading,
    summary: 'List the objects that configurations manage, with their changes since',
    description:
      'Objects that the key may not read are left out. A plan compares more: it also ' +
      'names the changes that the files would make.',
    response: { 200: ManagedObjects },
    handler: async ({ access, caller }) => {
      const who = { organization_id: access.organization_id, scopes: caller.scopes };
      return { objects: await listManagedObjects(deps, deps.db, who) };
    },
  });
}

async function getFiles(deps: Deps, request: FastifyRequest) {
  const { people = false, kind, id } = query(request, PulledQuery);
  const who = {
    organization_id: request.access.organization_id,
    scopes: request.caller.scopes,
  };
  if ((kind === undefined) !== (id === undefined))
    throw invalid(kind === undefined ? 'kind' : 'id', 'required', 'Send kind and id together.');
  const pulled =
    kind === undefined || id === undefined
      ? await pullConfiguration(deps, deps.db, who, people)
      : await pullObject(deps, deps.db, who, { kind, id });
  if (pulled === undefined) throw notFound();
  return { ...pulled, yaml: yamlText(pulled.configuration) };
}

function planRoute(app: FastifyInstance, deps: Deps): void {
  const description =
    'Compares a configuration with the current state, and rehearses the differences. Nothing ' +
    'changes. Sluice keeps the plan for an hour, encrypted, and `apply/` needs its hash. ' +
    'Reading needs the scope of each kind. `needs` lists what is missing for writing.';
  app.post(
    `${base}plan/`,
    {
      bodyLimit: plan_size_bytes_max,
      config: { ...reading, values_max: plan_values_max },
      schema: {
        summary: 'Plan a configuration',
        description,
        body: PlanRequest,
        response: { 201: Plan },
      },
    },
    (request, reply) =>
      withBeforehand(request, (beforehand) =>
        write(request, reply, 201, async (tx, record) => {
          const asked = body(request, PlanRequest);
          const plan = await createPlan(deps, request, { tx, beforehand }, asked);
          record('nothing');
          return plan;
        }),
      ),
  );
}

function applyRoute(app: FastifyInstance, deps: Deps): void {
  const description =
    'Applies the whole plan in one transaction, or nothing. Each object has its own entry in ' +
    'the activity log, with the source. 409 if an object of the plan has changed since (the ' +
    'answer names who changed it), if the plan has expired or was applied, or if it needs ' +
    'something. Writing needs the scope of each kind.';
  addRoute(app, {
    method: 'POST',
    url: `${base}apply/`,
    config: {
      within: 'organization',
      scope: 'organization:write',
      locks_organization: true,
      no_store: true,
    },
    summary: 'Apply a plan',
    description,
    body: ApplyRequest,
    response: {
      200: Applied,
      409: { ...Problem, description: 'The plan no longer fits the current state.' },
    },
    handler: (request, reply) =>
      withBeforehand(request, (beforehand) =>
        write(request, reply, 200, (tx, record, afterwards) =>
          applyPlan(deps, request, body(request, ApplyRequest).hash, {
            tx,
            record,
            afterwards,
            beforehand,
          }),
        ),
      ),
  });
}
