import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { PluginError } from '../../engine/plugins/plugin.ts';
import { publicJobPayload } from '../../engine/plugins/public_job.ts';
import { addJob } from '../../engine/plugins/running/jobs.ts';
import { loadConfigVersion } from '../../engine/plugins/versions.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { conflict, invalid, invalidMany } from '../../platform/http/errors.ts';
import { addList, addWrite } from '../../platform/http/records.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { getConfig, getLockedConfig } from './found.ts';
import { PluginJob, PluginJobStart, PluginMetric } from './schema.ts';
import type { PluginConfigRow, PluginJobRow } from './schema.ts';
import { getPluginJob, listPluginMetrics } from './store.ts';

const one = '/api/projects/:project_id/plugin_configs/:id/';

/** Routes of a running plugin: start a public job, and show its metrics. */
export function runningRoutes(app: FastifyInstance, deps: Deps): void {
  addList(app, {
    url: `${one}metrics/`,
    config: { within: 'project', scope: 'plugin:read' },
    summary: 'List the metrics of the plugin in this project, by name',
    description:
      'The metrics that the plugin exports and has used (`meta.metrics`). A metric ' +
      'restarts at zero when the plugin exports it with another operation.',
    answer: PluginMetric,
    rows: async (request) => {
      const { id } = await getConfig(deps.db, request);
      return listPluginMetrics(id);
    },
  });

  addWrite(app, {
    url: `${one}jobs/`,
    config: { within: 'project', scope: 'plugin:write', level: 8 },
    summary: 'Start one of the jobs that people may start',
    description:
      "The plugin's `public_jobs` names them and the fields of their payload, against " +
      'which `payload` is checked. The job runs as soon as the plugin has its turn; ' +
      '`logs/` says how it ended. 409 while the config is disabled, and when too many ' +
      'jobs wait. Needs the plugins access level 3.',
    body: PluginJobStart,
    response: { 201: PluginJob },
    work: async ({ request, tx, record }) => {
      const config = await getLockedConfig(tx, request);
      const { name, payload = {} } = body(request, PluginJobStart);
      const job = await startJob(tx, deps, config, name, payload);
      record({
        activity: 'job_started',
        scope: 'plugin_config',
        item_id: String(config.id),
        item_name: config.plugin_info.name,
        changes: changesOf(undefined, { job: name, payload: job.payload }),
      });
      return job;
    },
  });
}

/**
 * Stores the job for the worker with the config. Reads the jobs from the installed code, not from
 * the record.
 */
async function startJob(
  tx: Transaction,
  { secrets }: Deps,
  config: PluginConfigRow,
  name: string,
  sent: Record<string, unknown>,
): Promise<PluginJobRow> {
  const { public_jobs, capabilities } = await loadConfigVersion(tx, secrets, config.id).catch(
    conflictOf,
  );
  const names = Object.keys(public_jobs).filter((known) => capabilities.jobs.includes(known));
  if (!names.includes(name))
    throw invalid(
      'name',
      'invalid_choice',
      names.length === 0
        ? 'The plugin has no jobs that people may start.'
        : `People may start ${names.map((known) => `"${known}"`).join(', ')}.`,
    );
  const read = publicJobPayload(public_jobs[name], sent);
  if ('faults' in read)
    throw invalidMany(
      read.faults.map(({ attr, ...rest }) => ({
        attr: attr === '' ? 'payload' : `payload__${attr}`,
        ...rest,
      })),
    );
  if (!config.enabled)
    throw conflict(
      'The plugin is disabled in this project, so its jobs do not run. Enable it first.',
    );
  const id = await addJob(tx, config.id, name, read.payload, 0, 'person').catch(conflictOf);
  return getPluginJob(tx, id);
}

/** If a plugin cannot start a job now, the request is not at fault. */
function conflictOf(error: unknown): never {
  throw error instanceof PluginError ? conflict(error.message) : error;
}
