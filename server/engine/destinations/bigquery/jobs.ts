import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { stopError } from '../../model/destination/stop.ts';
import { projectPath, unlessStatus } from './api.ts';
import type { Dataset } from './api.ts';
import { JobError } from './faults.ts';

/** A job as the API describes it; numbers are text. */
export type Job = {
  jobReference: { jobId: string };
  status?: { state: string; errorResult?: { reason?: string; message?: string } };
  statistics?: { load?: { inputFileBytes?: string; outputRows?: string } };
};

/** The work of a job: one of `load`, `query`, `copy`, in the API's form. */
export type JobConfiguration = Partial<Record<'load' | 'query' | 'copy', unknown>>;

/** The parameters of a statement, by name; integers are numbers. */
export type QueryParameters = Record<string, string | number>;

const pause_milliseconds_first = 250;
const pause_milliseconds_max = 5_000;
const rows_per_page = 1_000;

/**
 * Returns the body that requests a job under our own name. Google accepts each name once, for six
 * months, and reports a repeat.
 */
export function jobBody(
  { config, location }: Dataset,
  id: string,
  configuration: JobConfiguration,
): unknown {
  return { jobReference: { projectId: config.project_id, jobId: id, location }, configuration };
}

/** Starts a job, or finds the one that was started under this name before; `is_new` tells which. */
export async function startJob(
  dataset: Dataset,
  id: string,
  configuration: JobConfiguration,
): Promise<{ job: Job; is_new: boolean }> {
  const body = jobBody(dataset, id, configuration);
  const job = await unlessStatus(409, () =>
    dataset.client.json<Job>('POST', `${projectPath(dataset.config)}/jobs`, body),
  );
  return job === undefined
    ? { job: await getJob(dataset, id), is_new: false }
    : { job, is_new: true };
}

function jobPath({ config, location }: Dataset, id: string, action = ''): string {
  const query = new URLSearchParams({ location }).toString();
  return `${projectPath(config)}/jobs/${id}${action}?${query}`;
}

function getJob(dataset: Dataset, id: string): Promise<Job> {
  return dataset.client.json<Job>('GET', jobPath(dataset, id));
}

/** Finds the job of this name; undefined if there was none. */
export function findJob(dataset: Dataset, id: string): Promise<Job | undefined> {
  return unlessStatus(404, () => getJob(dataset, id));
}

/** Asks Google to end a job. An ended or missing job is no error. */
export async function cancelJob(dataset: Dataset, id: string, signal?: AbortSignal): Promise<void> {
  await unlessStatus(404, () =>
    dataset.client.json('POST', jobPath(dataset, id, '/cancel'), undefined, signal),
  );
}

/** Returns true if the job has succeeded or failed. */
export function isEnded(job: Job): boolean {
  return job.status?.state === 'DONE';
}

/**
 * Waits until the job has succeeded or failed, with growing pauses, until the client's signal
 * aborts.
 */
export async function endOf(dataset: Dataset, job: Job): Promise<Job> {
  const { signal } = dataset.client;
  let current = job;
  for (
    let milliseconds = pause_milliseconds_first;
    !isEnded(current);
    milliseconds = Math.min(2 * milliseconds, pause_milliseconds_max)
  ) {
    await pause(milliseconds, undefined, { signal }).catch(() => {
      throw stopError(signal);
    });
    current = await getJob(dataset, current.jobReference.jobId);
  }
  return current;
}

/** Waits until the job has succeeded; throws `JobError` if it failed. */
export async function resultOf(dataset: Dataset, job: Job): Promise<Job> {
  const ended = await endOf(dataset, job);
  const failure = ended.status?.errorResult;
  if (failure !== undefined)
    throw new JobError(failure.reason ?? 'unknown', failure.message ?? 'The job failed.');
  return ended;
}

/**
 * Returns the configuration of a query in GoogleSQL. It bypasses the cache, so the result is
 * current.
 */
export function queryConfiguration(
  statement: string,
  parameters: QueryParameters,
): JobConfiguration {
  return {
    query: {
      query: statement,
      useLegacySql: false,
      useQueryCache: false,
      parameterMode: 'NAMED',
      queryParameters: Object.entries(parameters).map(([name, value]) => ({
        name,
        parameterType: { type: typeof value === 'number' ? 'INT64' : 'STRING' },
        parameterValue: { value: String(value) },
      })),
    },
  };
}

/** Runs a statement to its end. */
export async function runStatement(
  dataset: Dataset,
  statement: string,
  parameters: QueryParameters = {},
): Promise<Job> {
  const { job } = await startJob(
    dataset,
    `sluice_query_${randomUUID()}`,
    queryConfiguration(statement, parameters),
  );
  return resultOf(dataset, job);
}

type ResultPage = {
  schema?: { fields: { name: string }[] };
  rows?: { f: { v: string | null }[] }[];
  pageToken?: string;
};

/**
 * Yields the rows of a query page by page, so that they need not fit into memory. Every value is
 * text, as the API returns it, or null.
 */
export async function* queryRows<Row extends Record<string, string | null>>(
  dataset: Dataset,
  statement: string,
  parameters: QueryParameters = {},
): AsyncGenerator<Row> {
  const { jobReference } = await runStatement(dataset, statement, parameters);
  const { client, config, location } = dataset;
  let token: string | undefined = '';
  while (token !== undefined) {
    const query = new URLSearchParams({
      location,
      maxResults: String(rows_per_page),
      ...(token === '' ? {} : { pageToken: token }),
    });
    const page: ResultPage = await client.json<ResultPage>(
      'GET',
      `${projectPath(config)}/queries/${jobReference.jobId}?${query.toString()}`,
    );
    const names = (page.schema?.fields ?? []).map((field) => field.name);
    for (const { f } of page.rows ?? [])
      yield Object.fromEntries(names.map((name, index) => [name, f[index]?.v ?? null])) as Row;
    token = page.pageToken;
  }
}
