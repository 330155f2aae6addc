import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import type { Config } from '../config/config.ts';
import { commandLine } from '../platform/command_line.ts';
import { withPlainDomain } from '../platform/mail/mailbox.ts';
import { plantedGap, spansAround } from './demo/gap.ts';
import type { Span } from './demo/gap.ts';
import { generateWebShop } from './demo/web_shop.ts';
import type { RunningServer } from './serve.ts';
import { issueKey } from './people/key.ts';
import { UserError } from './user_error.ts';
import { counted } from '../platform/counted.ts';

const export_name = 'Web shop demo, with a gap to repair';
const day_ms = 24 * 3_600_000;
const hour_ms = 3_600_000;
const events_total = 20_000;
const runs_shown_max = 5;
/** Number of hours between the hour that the demo leaves out and the current one. */
const gap_hours = 7;

type Run = {
  id: string;
  status: string;
  records_completed: number | null;
  data_interval_start: string;
};
type Call = (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;

/**
 * Fills the owner's first project with a realistic web shop, exports it hourly to the export
 * folder, backfills the last day except one hour, and prints the result. That hour is really
 * missing, because its backfill is cancelled, and the console offers to repair it. Every step goes
 * through the server's own API with a key valid for an hour, so a user could do the same. Running
 * it again creates no second export, gap or event, and leaves the gap to the person.
 */
export async function runDemo(
  server: RunningServer,
  config: Config,
  say: (line: string) => void,
): Promise<void> {
  const { deps } = server.opened;
  const project = await deps.db.row<{ id: number }>(sql`
    SELECT project.id FROM projects project JOIN members member
      ON member.organization_id = project.organization_id JOIN users ON users.id = member.user_id
    WHERE comparable_address(users.email) =
      comparable_address(${withPlainDomain(config.owner_email)})
      ORDER BY project.created_at, project.id LIMIT 1`);
  if (project === undefined)
    throw new UserError(`The owner ${config.owner_email} has no project to fill.`);
  const key = await issueKey(deps, {
    email: config.owner_email,
    label: 'demo',
    scopes: ['event:write', 'batch_export:write'],
    expires_in_days: 1 / 24,
  });
  const call = callServer(server.address, key);
  const base = `/api/projects/${project.id}`;
  const now = deps.clock.now();
  const hour = Math.floor(now / hour_ms) * hour_ms;
  say('');
  say('Demo: a web shop.');
  await sendEvents(call, `${base}/events/`, { from: hour - 26 * hour_ms, to: hour }, say);
  const created = await findOrCreateExport(call, base);
  const exportPath = `${base}/batch_exports/${created.id}`;
  say(`  export     ${created.id} (hourly, Parquet with zstd, under ${config.export_dir})`);
  const gap = created.is_new
    ? await plantGap(call, exportPath, hour - gap_hours * hour_ms, say)
    : await findGap(call, exportPath);
  const backfills: string[] = [];
  for (const { from, to } of spansAround({ from: hour - day_ms, to: hour }, gap))
    backfills.push(await startBackfill(call, exportPath, from, to));
  say('  backfill   the last 24 hours; it starts once the new rows are final');
  const runs: Run[] = [];
  for (const id of backfills) runs.push(...(await followBackfill(call, exportPath, id, say)));
  tellDelivered(runs, say);
  for (const run of runs.filter((one) => (one.records_completed ?? 0) > 0).slice(0, runs_shown_max))
    await showRun(call, exportPath, run, say);
  say('');
  say('Look further:');
  say(`  ${server.address}/projects/${project.id}/exports/${created.id}  (the map)`);
  say(`  find ${config.export_dir}/demo -type f | head`);
  say(`  curl -H 'Authorization: Bearer <your key>' ${server.address}${exportPath}/runs/`);
  say(`  curl -H 'Authorization: Bearer <your key>' ${server.address}${exportPath}/logs/`);
  say(`  ${commandLine('verify')}`);
}

async function startBackfill(call: Call, exportPath: string, from: number, to: number) {
  const answer = await call('POST', `${exportPath}/backfill/`, {
    start_at: new Date(from).toISOString(),
    end_at: new Date(to).toISOString(),
  });
  return (answer['backfill'] as { id: string }).id;
}

/** Starts the backfill of one hour, and cancels it before a run begins. */
async function plantGap(
  call: Call,
  exportPath: string,
  from: number,
  say: (line: string) => void,
): Promise<Span> {
  const id = await startBackfill(call, exportPath, from, from + hour_ms);
  await call('POST', `${exportPath}/backfills/${id}/cancel/`, {});
  const [start, end] = [from, from + hour_ms].map((at) => new Date(at).toISOString().slice(0, 16));
  say(
    `  gap        the demo leaves out ${start} to ${end!.slice(11)} UTC on purpose: the map ` +
      'offers to repair it',
  );
  return { from, to: from + hour_ms };
}

async function findGap(call: Call, exportPath: string): Promise<Span | undefined> {
  const { results } = await call('GET', `${exportPath}/backfills/?limit=1000`);
  return plantedGap(results as Parameters<typeof plantedGap>[0], hour_ms);
}

async function findOrCreateExport(
  call: Call,
  base: string,
): Promise<{ id: string; is_new: boolean }> {
  const page = await call('GET', `${base}/batch_exports/?limit=1000`);
  const listed = page['results'] as { id: string; name: string }[];
  const existing = listed.find((item) => item.name === export_name);
  if (existing !== undefined) return { id: existing.id, is_new: false };
  const created = await call('POST', `${base}/batch_exports/`, {
    name: export_name,
    model: 'events',
    interval: 'hour',
    destination: {
      type: 'File',
      config: {
        prefix: 'demo/day={local_year}-{local_month}-{local_day}',
        file_format: 'Parquet',
        compression: 'zstd',
      },
    },
  });
  return { id: created['id'] as string, is_new: true };
}

function tellDelivered(runs: Run[], say: (line: string) => void): void {
  const delivered = runs.reduce((sum, run) => sum + (run.records_completed ?? 0), 0);
  const completed = runs.filter((run) => run.status === 'Completed').length;
  if (delivered === 0)
    say(
      '  delivered  nothing new: an earlier demo has delivered the last day, and nothing is ' +
        'delivered twice',
    );
  else
    say(
      `  delivered  ${counted(delivered, 'event')} in ${counted(completed, 'completed run')}; ` +
        'each left a signed receipt beside its file',
    );
}

async function showRun(
  call: Call,
  exportPath: string,
  run: Run,
  say: (line: string) => void,
): Promise<void> {
  const receipt = await call('GET', `${exportPath}/runs/${run.id}/receipt/`);
  for (const slice of receipt['slices'] as {
    name: string;
    records: number;
    bytes: number;
    sha256: string;
  }[]) {
    say(
      `             ${run.data_interval_start}  ${String(slice.records).padStart(5)} rows  ` +
        `${String(slice.bytes).padStart(7)} bytes  ${slice.name}  sha256 ` +
        `${slice.sha256.slice(0, 12)}...`,
    );
  }
}

function callServer(address: string, key: string): Call {
  return async (method, path, body) => {
    const isText = typeof body === 'string';
    const { request } = await import('undici');
    const answer = await request(`${address}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined
          ? {}
          : { 'content-type': isText ? 'application/x-ndjson' : 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 400)
      throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  };
}

async function sendEvents(
  call: Call,
  path: string,
  range: { from: number; to: number },
  say: (line: string) => void,
): Promise<void> {
  let batch: string[] = [];
  let taken = 0;
  let duplicates = 0;
  const flush = async () => {
    if (batch.length === 0) return;
    const answer = await call('POST', path, `${batch.join('\n')}\n`);
    taken += Number(answer['taken']);
    duplicates += Number(answer['duplicates']);
    batch = [];
  };
  for (const event of generateWebShop({
    seed: 1,
    from: range.from,
    to: range.to,
    events: events_total,
  })) {
    batch.push(JSON.stringify(event));
    if (batch.length === 5_000) await flush();
  }
  await flush();
  say(`  events     ${taken} stored${duplicates > 0 ? `, ${duplicates} were there already` : ''}`);
}

async function followBackfill(
  call: Call,
  exportPath: string,
  backfillId: string,
  say: (line: string) => void,
): Promise<Run[]> {
  let isFirst = true;
  for (;;) {
    const backfill = await call('GET', `${exportPath}/backfills/${backfillId}/`);
    const page = await call('GET', `${exportPath}/runs/?ordering=-data_interval_start&limit=100`);
    const runs = (page['results'] as (Run & { backfill: string | null })[]).filter(
      (run) => run.backfill === backfillId,
    );
    const first = runs.find((run) => run.status === 'Completed');
    if (isFirst && first !== undefined) {
      say(
        `  first run  ${first.id} completed: ${counted(first.records_completed ?? 0, 'event')} ` +
          `of the hour ` +
          `from ${first.data_interval_start}`,
      );
      isFirst = false;
    }
    if (backfill['finished_at'] !== null) return runs;
    await pause(250);
  }
}
