import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { claimRun } from '../../server/engine/exports/workers/claims.ts';
import type { Engine } from '../../server/engine/exports/engine.ts';
import { executeRun } from '../../server/engine/exports/delivery/execute.ts';
import type { StopReason } from '../../server/engine/exports/delivery/attempt.ts';
import { projectBase } from '../factories/batch_exports/batch_exports.ts';
import type { TestOrganization } from '../harness.ts';
import type { QueryHarness } from '../factories/batch_exports/query_exports.ts';

/**
 * The effect of a faulty attempt on its run: final failure at once, waiting for another attempt,
 * final failure after the last one, or cancelled.
 */
export type Ending = 'Failed' | 'tried again' | 'FailedRetryable' | 'Cancelled';

/** One fault at one destination. */
export type FaultCase = {
  destination: string;
  /** A few words for readers. */
  fault: string;
  code: string;
  ending: Ending;
  prepare(): Promise<Scene>;
};

/** A case's own place, and its fault. */
export type Scene = {
  config: Record<string, unknown>;
  /** Returns the number of visible rows at the place. */
  visible(): Promise<number>;
  /** Called when the run is planned, before the attempt. */
  strike?(run: { id: string; batch_export_id: string }): Promise<void>;
  /** Runs beside the attempt; its result stops the attempt. */
  meanwhile?(): Promise<StopReason | void>;
  /** Ends the fault. Undefined if the fault ends on its own, or is permanent. */
  lift?(run: { id: string; batch_export_id: string }): Promise<void>;
  /** True if the rows can be delivered afterwards. */
  is_lasting?: true;
  /** The fields of the export besides its destination. */
  body?: Record<string, unknown>;
  engine?(engine: Engine): Engine;
};

/** Cases, and a function that closes their resources. */
export type OpenFaults = { cases: FaultCase[]; close(): Promise<void> };

/** Rows of the first run of each export. */
export const records = 3;

/**
 * Creates a case in which the first attempt waits for a silent destination only a second. The
 * scene's `strike` names the part that hangs.
 */
export function impatient(destination: string, prepare: () => Promise<Scene>): FaultCase {
  const impatiently = async (): Promise<Scene> => {
    const scene = await prepare();
    let isFirst = true;
    const engine = (given: Engine): Engine => {
      const own = scene.engine?.(given) ?? given;
      const silence = isFirst ? { destination_silence_seconds_max: 1 } : {};
      isFirst = false;
      return { ...own, ...silence };
    };
    return { ...scene, engine };
  };
  return {
    destination,
    fault: 'it hangs, and nobody stops it',
    code: 'timed_out',
    ending: 'tried again',
    prepare: impatiently,
  };
}

type RunRow = {
  id: string;
  batch_export_id: string;
  status: string;
  error_code: string | null;
  latest_error: string | null;
  failures: number;
  records_completed: number | null;
};

const columns = sql`id, batch_export_id, status, error_code, latest_error, failures,
  records_completed`;

/** The test bed of all cases: a project with three events, whose exports run on demand. */
export class Matrix {
  readonly exporting: QueryHarness;
  readonly home: TestOrganization;
  private readonly hints: Map<string, string>;

  private constructor(exporting: QueryHarness, home: TestOrganization, hints: Map<string, string>) {
    this.exporting = exporting;
    this.home = home;
    this.hints = hints;
  }

  static async open(exporting: QueryHarness): Promise<Matrix> {
    const home = await exporting.harness.newOrganization();
    await exporting.insert(
      home,
      Array.from({ length: records }, (_, index) => ({
        event: 'seen',
        at: `2026-01-01T00:1${index}:00Z`,
      })),
    );
    const page = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8');
    const lines = Array.from(
      page.matchAll(/^\| `(\w+)` \| (\w+) \| .+? \| (.+) \|$/gm),
      ([, code, retried]) => [code!, retried!] as const,
    );
    return new Matrix(exporting, home, new Map(lines));
  }

  /**
   * Lets the fault happen to a new export. Checks that the run ends as the case says, and checks
   * everything that must hold for any fault.
   */
  async happen({ destination, fault, code, ending, prepare }: FaultCase): Promise<void> {
    const name = `${destination}, ${fault}`;
    const scene = await prepare();
    const created = await this.exporting.scheduled(this.home, {
      destination: { type: destination, config: scene.config },
      ...scene.body,
    });
    // Only the first interval, so that no other run is planned for each export.
    await this.db.run(
      sql`UPDATE batch_exports SET end_at = '2026-01-01T01:00:00Z' WHERE id = ${created.id}`,
    );
    const [planned] = await this.exporting.plan(created.id);
    const id = planned!.id;
    const run = { id, batch_export_id: created.id };
    if (ending === 'FailedRetryable')
      await this.db.run(sql`UPDATE batch_export_runs SET failures = 14 WHERE id = ${id}`);
    await scene.strike?.(run);
    await this.attempt(id, scene);
    const found = await this.runOf(id);
    assert.deepEqual(
      [found.error_code, endingOf(found)],
      [code, ending],
      `${name}: ${found.status}, ${found.latest_error}`,
    );
    assert.equal(
      found.records_completed === records && found.status === 'Completed',
      false,
      `${name}: Completed in spite of the fault`,
    );
    assert.equal(
      this.hints.get(code),
      { Failed: 'no', Cancelled: 'ended' }[ending as string] ?? 'yes',
      `${name}: docs/errors.md says otherwise of ${code}`,
    );
    assert.match(found.latest_error ?? '', /^.{10,}[.!]$/s, `${name}: no sentence`);
    assert.equal(await scene.visible(), 0, `${name}: a part is visible`);
    await scene.lift?.(run);
    if (scene.is_lasting === undefined) await this.deliverAfterwards(name, run, scene, ending);
  }

  /**
   * After the end of the fault, every row arrives once: by the next attempt, or by a retry of the
   * run.
   */
  private async deliverAfterwards(
    name: string,
    run: { id: string; batch_export_id: string },
    scene: Scene,
    ending: Ending,
  ): Promise<void> {
    let { id } = run;
    if (ending !== 'tried again') {
      const retried = await this.home.ask(
        'POST',
        `${projectBase(this.home)}${run.batch_export_id}/runs/${id}/retry/`,
      );
      assert.equal(retried.status, 200, `${name}: ${retried.text}`);
      id = retried.body.id;
    }
    const { meanwhile: _over, ...calm } = scene;
    await this.attempt(id, calm);
    const after = await this.runOf(id);
    assert.deepEqual(
      [after.status, after.records_completed, await scene.visible()],
      ['Completed', records, records],
      `${name}, afterwards: ${after.latest_error}`,
    );
  }

  private async attempt(id: string, scene: Scene): Promise<void> {
    const run = await claimRun(this.db, id, randomUUID());
    assert.ok(run, 'the run cannot be taken');
    const stop = new AbortController();
    const engine = scene.engine?.(this.engine) ?? this.engine;
    const meanwhile = scene
      .meanwhile?.()
      .then((reason) => (reason === undefined ? undefined : stop.abort(reason)));
    await Promise.all([executeRun(engine, run, stop.signal), meanwhile]);
  }

  private runOf(id: string): Promise<RunRow> {
    return this.db.row<RunRow>(
      sql`SELECT ${columns} FROM batch_export_runs WHERE id = ${id}`,
    ) as Promise<RunRow>;
  }

  private get db() {
    return this.exporting.harness.deps.db;
  }

  private get engine(): Engine {
    return this.exporting.harness.deps.engine;
  }
}

function endingOf({ status, failures }: RunRow): string {
  return ['Starting', 'Running'].includes(status)
    ? failures === 1
      ? 'tried again'
      : `${status} with ${failures} failures`
    : status;
}

/** Returns the table of docs/fault_matrix.md. */
export function matrixMarkdown(cases: FaultCase[]): string {
  const lines = cases.map(
    ({ destination, fault, ending, code }) =>
      `| ${destination} | ${fault} | ${ending} | \`${code}\` |`,
  );
  return [
    '| destination | fault | the run | `error_code` |',
    '| --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}
