import { runScript } from './statements.ts';
import type { StatementResult } from './rows.ts';
import { JobFailure, checkedRow, rowsOfFile } from './tables.ts';
import type { Field, Row, StoredTable, Value } from './tables.ts';

type Reference = { projectId: string; datasetId: string; tableId: string };
type Disposition = { createDisposition?: string; writeDisposition?: string };
type Parameter = {
  name: string;
  parameterType: { type: string };
  parameterValue: { value: string };
};
type Configuration = {
  load?: Disposition & {
    destinationTable: Reference;
    sourceFormat: string;
    schema: { fields: Field[] };
  };
  copy?: Disposition & { sourceTables: Reference[]; destinationTable: Reference };
  query?: {
    query: string;
    useLegacySql: boolean;
    parameterMode: string;
    queryParameters: Parameter[];
  };
};
type Wanted = {
  jobReference: { projectId: string; jobId: string; location: string };
  configuration: Configuration;
};
type StoredJob = {
  jobReference: Wanted['jobReference'];
  status: { state: string; errorResult?: { reason: string; message: string } };
  statistics: { load?: { inputFileBytes: string; outputRows: string } };
  result: StatementResult;
  run: (() => Promise<void>) | undefined;
};
type Fault = { pattern: RegExp; reason: string; message: string; is_after: boolean };

/**
 * The jobs of a project: each name is used once, and each job ends at once unless a test holds it.
 */
export class BigQueryJobs {
  /** Statements in the order of their requests. */
  readonly statements: string[] = [];
  /** The configurations of load jobs, in the order of their requests. */
  readonly loads: unknown[] = [];
  private readonly jobs = new Map<string, StoredJob>();
  private readonly project: string;
  private readonly datasets: Map<string, Map<string, StoredTable>>;
  private readonly page_size: number;
  private readonly faults: Fault[] = [];
  private readonly held: RegExp[] = [];
  private readonly spoilers: ((row: Row) => Row)[] = [];

  constructor(project: string, datasets: Map<string, Map<string, StoredTable>>, pageSize: number) {
    this.project = project;
    this.datasets = datasets;
    this.page_size = pageSize;
  }

  /**
   * Makes the next job with a matching name end with an error; `is_after`: after its work is done.
   */
  failNext(pattern: RegExp, reason: string, message: string, is_after = false): void {
    this.faults.push({ pattern, reason, message, is_after });
  }

  /** Makes the next job with a matching name continue until `release`, or until it is cancelled. */
  holdNext(pattern: RegExp): void {
    this.held.push(pattern);
  }

  /**
   * Makes the table of the next load hold other rows than the file has; a value must still have the
   * type of its column.
   */
  spoilNext(change: (row: Row) => Row): void {
    this.spoilers.push(change);
  }

  /** Ends the held jobs with their normal result. */
  async release(): Promise<void> {
    for (const job of this.jobs.values()) await job.run?.();
  }

  /** Names of the jobs, and their states. */
  states(): string[] {
    return [...this.jobs].map(
      ([id, { status }]) => `${id} ${status.errorResult?.reason ?? status.state}`,
    );
  }

  async insert(wanted: unknown, bytes?: Buffer): Promise<unknown> {
    const { jobReference, configuration } = wanted as Wanted;
    const { jobId, projectId, location } = jobReference;
    if (!/^[\w-]{1,1024}$/.test(jobId) || projectId !== this.project || location !== 'EU')
      throw new JobFailure('invalid', `Invalid job reference ${jobId}`);
    if (this.jobs.has(jobId)) throw new JobTaken(jobId);
    const job: StoredJob = {
      jobReference,
      status: { state: 'RUNNING' },
      statistics: {},
      result: { names: [], rows: [] },
      run: undefined,
    };
    this.jobs.set(jobId, job);
    if (configuration.query !== undefined) this.statements.push(configuration.query.query);
    if (configuration.load !== undefined) this.loads.push(configuration.load);
    job.run = () => this.run(job, configuration, bytes);
    if (!taken(this.held, (pattern) => pattern.test(jobId))) await job.run();
    return this.get(jobId);
  }

  get(id: string): unknown {
    const { jobReference, status, statistics } = this.find(id);
    return { jobReference, status, statistics };
  }

  cancel(id: string): void {
    const job = this.find(id);
    if (job.run === undefined) return;
    job.status = {
      state: 'DONE',
      errorResult: {
        reason: 'stopped',
        message: 'Job execution was cancelled: User requested cancellation',
      },
    };
    job.run = undefined;
  }

  results(id: string, token: string | null): unknown {
    const { names, rows } = this.find(id).result;
    const from = Number(token ?? 0);
    const page = rows
      .slice(from, from + this.page_size)
      .map((row) => ({ f: row.map((value) => ({ v: value === null ? null : String(value) })) }));
    const isMore = from + this.page_size < rows.length;
    return {
      jobComplete: true,
      schema: { fields: names.map((name) => ({ name })) },
      rows: page,
      ...(isMore ? { pageToken: String(from + this.page_size) } : {}),
    };
  }

  private find(id: string): StoredJob {
    const job = this.jobs.get(id);
    if (job === undefined)
      throw new JobFailure('notFound', `Not found: Job ${this.project}:EU.${id}`);
    return job;
  }

  private async run(
    job: StoredJob,
    configuration: Configuration,
    bytes: Buffer | undefined,
  ): Promise<void> {
    job.run = undefined;
    try {
      const fault = taken(this.faults, ({ pattern }) => pattern.test(job.jobReference.jobId));
      const failure = fault && new JobFailure(fault.reason, fault.message);
      if (failure !== undefined && fault?.is_after === false) throw failure;
      if (configuration.load !== undefined) await this.load(job, configuration.load, bytes);
      else if (configuration.copy !== undefined) this.copy(configuration.copy);
      else job.result = this.query(configuration.query!);
      if (failure !== undefined) throw failure;
      job.status = { state: 'DONE' };
    } catch (error) {
      if (!(error instanceof JobFailure)) throw error;
      job.status = { state: 'DONE', errorResult: { reason: error.reason, message: error.message } };
    }
  }

  private async load(
    job: StoredJob,
    load: NonNullable<Configuration['load']>,
    bytes: Buffer | undefined,
  ): Promise<void> {
    if (bytes === undefined)
      throw new JobFailure('invalid', 'Load configuration must specify at least one source URI');
    const rows = await rowsOfFile(load.sourceFormat, bytes, load.schema.fields);
    const change = this.spoilers.shift() ?? ((row: Row) => row);
    this.fill(
      load.destinationTable,
      load,
      rows.map((row) => checkedRow(load.schema.fields, change(row))),
    );
    job.statistics = {
      load: { inputFileBytes: String(bytes.length), outputRows: String(rows.length) },
    };
  }

  private copy({
    sourceTables,
    destinationTable,
    ...disposition
  }: NonNullable<Configuration['copy']>): void {
    if (sourceTables.length > 1_200) throw new JobFailure('invalid', 'Too many source tables');
    this.fill(
      destinationTable,
      disposition,
      sourceTables.flatMap((source) => this.table(source).rows.map((row) => ({ ...row }))),
    );
  }

  private fill(reference: Reference, disposition: Disposition, rows: StoredTable['rows']): void {
    const table = this.table(reference);
    if (
      disposition.createDisposition !== 'CREATE_NEVER' ||
      disposition.writeDisposition !== 'WRITE_EMPTY'
    )
      throw new JobFailure('invalid', 'Unknown disposition');
    if (table.rows.length > 0)
      throw new JobFailure('duplicate', `Already Exists: Table ${reference.tableId}`);
    table.rows = rows;
  }

  private table({ projectId, datasetId, tableId }: Reference): StoredTable {
    const table =
      projectId === this.project ? this.datasets.get(datasetId)?.get(tableId) : undefined;
    if (table === undefined)
      throw new JobFailure('notFound', `Not found: Table ${projectId}:${datasetId}.${tableId}`);
    return table;
  }

  private query({
    query,
    useLegacySql,
    parameterMode,
    queryParameters,
  }: NonNullable<Configuration['query']>): StatementResult {
    if (useLegacySql || parameterMode !== 'NAMED')
      throw new JobFailure('invalid', 'Not GoogleSQL with named parameters');
    if (Buffer.byteLength(query) > 1_000_000)
      throw new JobFailure('invalid', 'The query is too large.');
    const dataset = /`\.`([^`]+)`\.`/.exec(query)?.[1] ?? '';
    const tables = this.datasets.get(dataset);
    if (tables === undefined)
      throw new JobFailure('notFound', `Not found: Dataset ${this.project}:${dataset}`);
    const parameters = queryParameters.map(
      ({ name, parameterType, parameterValue: { value } }): [string, Value] => [
        name,
        parameterType.type === 'INT64' ? BigInt(value) : value,
      ],
    );
    return runScript(
      { project: this.project, dataset, tables },
      query,
      Object.fromEntries(parameters),
    );
  }
}

/** Thrown for a name of an existing job. */
export class JobTaken extends Error {
  constructor(id: string) {
    super(`Already Exists: Job test-project:EU.${id}`);
  }
}

/** Takes the first match out of a list. */
function taken<One>(list: One[], fits: (one: One) => boolean): One | undefined {
  const index = list.findIndex(fits);
  return index === -1 ? undefined : list.splice(index, 1)[0];
}
