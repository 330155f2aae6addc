import { existsSync } from 'node:fs';
import { cpus, freemem, platform } from 'node:os';
import sql from 'sql-template-tag';
import { findFolderHolder } from '../../platform/folders/data_folder.ts';
import type { Config } from '../../config/config.ts';
import { verifyActivity } from '../../platform/activity/verify.ts';
import type { VerifiedActivity } from '../../platform/activity/verify.ts';
import { counted } from '../../platform/counted.ts';
import { lookAtFolder } from '../../platform/folders/folders.ts';
import { fewFiles, openFilesLimit } from '../../platform/open_files.ts';
import { silentLog } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { CommandContext } from '../command_context.ts';
import { sentenceOf } from '../explain.ts';
import { lookAtBackground } from './background_findings.ts';
import { lookAtCluster } from './cluster_findings.ts';
import { lookAtDisk } from './disk_findings.ts';
import { lookAtExports } from './export_findings.ts';
import { fault, findingLine, ok, warning } from './finding.ts';
import type { Finding } from './finding.ts';
import { lookAtNamedStores } from '../stores/named_stores.ts';
import { lookAtPort } from './port_findings.ts';
import { lookAtPrimary } from './primary_findings.ts';
import { lookAtOtherFiles } from '../process/named_files.ts';
import { migrations_folder } from '../process/process.ts';
import type { OpenProcess } from '../process/process.ts';
import { lookAtSchema } from './schema_findings.ts';
import { NoStoreError, findRunning } from '../stores/stores.ts';
import { withProcess } from '../process/with_process.ts';
import { UserError } from '../user_error.ts';

const gibibyte = 2 ** 30;
/** Most faults of the activity log that are shown one by one. */
const faults_told_max = 20;

/**
 * Checks the machine, the settings and the stores, and says what is wrong and what to do. Exit code
 * 1 when there is a fault. It creates no folder and changes nothing. If a start would migrate the
 * database, it describes the migration and stops there.
 */
export async function doctor(
  context: CommandContext,
  { json = false }: { json?: boolean } = {},
): Promise<number> {
  const findings = [
    ...machine(context.config),
    ...folders(context.config),
    ...otherFiles(context.config),
    ...(await stores(context)),
  ];
  const count = (wanted: Finding['state']) => findings.filter((one) => one.state === wanted).length;
  const faults = count('fault');
  if (json) context.say(JSON.stringify(findings));
  else {
    for (const finding of findings) context.say(findingLine(finding));
    context.say(summaryOf(faults, count('warning')));
  }
  return faults === 0 ? 0 : 1;
}

/** Returns the last line: the numbers of faults and warnings. */
function summaryOf(faults: number, warnings: number): string {
  if (faults > 0) return `${counted(faults, 'thing')} ${faults === 1 ? 'is' : 'are'} wrong.`;
  return warnings === 0
    ? 'Nothing is wrong.'
    : `Nothing is broken; ${counted(warnings, 'warning')}.`;
}

function machine(config: Config): Finding[] {
  const major = Number(process.versions.node.split('.')[0]);
  const isEmbedded = config.database_url === undefined || config.clickhouse_url === undefined;
  return [
    major >= 24
      ? ok('Node', process.versions.node)
      : fault('Node', `${process.versions.node} is too old; install Node 24.`),
    cpus().length >= 2
      ? ok('processors', String(cpus().length))
      : warning('processors', 'one processor; exports and requests will slow each other down.'),
    freemem() > gibibyte
      ? ok('memory', `${(freemem() / gibibyte).toFixed(1)} GiB free`)
      : warning(
          'memory',
          `${(freemem() / gibibyte).toFixed(1)} GiB free; the embedded ClickHouse wants 1 GiB ` +
            'and more.',
        ),
    isEmbedded && platform() === 'win32'
      ? fault('platform', 'there is no embedded ClickHouse for Windows; set SLUICE_CLICKHOUSE_URL.')
      : ok('platform', `${platform()} ${process.arch}`),
  ];
}

function folders(config: Config): Finding[] {
  return (
    [
      ['data folder', 'SLUICE_DATA_DIR', config.data_dir],
      ['export folder', 'SLUICE_EXPORT_DIR', config.export_dir],
    ] as const
  ).map(([subject, variable, path]) => {
    const found = lookAtFolder(path);
    if (found.problem !== undefined)
      return fault(
        subject,
        `${found.problem}. Let this user write there, or name another folder with ${variable}.`,
      );
    if (found.is_out_of_inodes)
      return fault(subject, `${path} has no inodes left, so no file can be created. Delete files.`);
    const free = found.free_bytes / gibibyte;
    const detail = `${path}${found.exists ? '' : ' (created when it is needed)'}`;
    return free < 1
      ? warning(subject, `${detail} has ${free.toFixed(1)} GiB free.`)
      : ok(subject, `${detail}, ${free.toFixed(0)} GiB free`);
  });
}

/** The other files that settings name, with which a start would end or warn. */
function otherFiles(config: Config): Finding[] {
  const findings: Finding[] = [];
  try {
    lookAtOtherFiles(config, (text) => findings.push(warning('settings', text)), { api: true });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    findings.push(fault('settings', error.message));
  }
  return findings;
}

async function stores({ config }: CommandContext): Promise<Finding[]> {
  const holder = findFolderHolder(config.data_dir);
  const isUnseen = lookAtFolder(config.data_dir).problem !== undefined;
  const findings: Finding[] = [];
  if (holder !== undefined)
    findings.push(ok('server', `process ${holder} runs on this data folder`));
  else if (!isUnseen) findings.push(ok('server', 'none runs on this data folder'));
  const few = fewFiles(openFilesLimit(holder));
  if (few !== undefined) findings.push(warning('open files', few));
  if (config.secret_key === undefined && !isUnseen && !existsSync(`${config.data_dir}/secret_key`))
    findings.push(ok('secret key', 'will be created at the first start'));
  const isNamed = config.database_url !== undefined && config.clickhouse_url !== undefined;
  // A server with other stores leaves no trace in the folder, and may be the one on the port.
  if (holder === undefined && !isUnseen && !isNamed) findings.push(await lookAtPort(config));
  const named = await lookAtNamedStores(config);
  findings.push(...named);
  const isBeside = !isNamed && findRunning(config) !== undefined;
  // The text already says which parts could not be inspected.
  if (isUnseen && !isNamed) return findings;
  // The unusable store is already reported; beside a running server, its own stores are still
  // checked.
  if (!isBeside && named.some(({ state }) => state === 'fault')) return findings;
  try {
    // A fault becomes a finding; a log line between the findings would repeat it.
    findings.push(
      ...(await withProcess({ config, log: silentLog() }, contents, {}, (at) =>
        lookAtSchema(config, at, migrations_folder),
      )),
    );
  } catch (error) {
    if (error instanceof NoStoreError)
      findings.push(ok('stores', 'none yet; the first start creates them'));
    else findings.push(storesFault(error));
  }
  return findings;
}

/** Returns the finding for stores that cannot be read. */
export function storesFault(error: unknown): Finding {
  const message = error instanceof Error ? error.message : String(error);
  return fault('stores', sentenceOf(error) ?? message);
}

async function contents({ deps }: OpenProcess): Promise<Finding[]> {
  const [postgres] = await deps.db.rows<{ version: string; instant: number }>(sql`
    SELECT current_setting('server_version') AS version, (extract(epoch
      FROM clock_timestamp()) * 1000)::bigint AS instant`);
  const skew = Math.abs(deps.clock.now() - postgres!.instant);
  return [
    ok('PostgreSQL', postgres!.version),
    ...(await lookAtCluster(deps.clickhouse)),
    skew > 2_000
      ? warning(
          'clock',
          `this machine and PostgreSQL are ${(skew / 1000).toFixed(1)} s apart; synchronise them.`,
        )
      : ok('clock', `within ${skew} ms of PostgreSQL`),
    ...(await lookAtPrimary(deps.db)),
    ...(await lookAtDisk(deps)),
    ...(await lookAtBackground(deps.db)),
    ...(await lookAtExports(deps.db, deps.engine.settle_seconds)),
    ...(await activity(deps.db, await verifyActivity(deps.db, deps.secrets))),
  ];
}

/**
 * Reports the places at which the activity log differs from what was written; of many only the
 * first.
 */
async function activity(
  db: Database,
  { entries, chains, entries_changed, faults_found, faults }: VerifiedActivity,
): Promise<Finding[]> {
  if (faults_found === 0)
    return [ok('activity log', `${entries} entries in ${chains} chains, unchanged`)];
  const told = faults.slice(0, faults_told_max);
  const names = await chainNames(
    db,
    told.map(({ chain_id }) => chain_id),
  );
  const findings = told.map(({ chain_id, number, detail }) =>
    fault(
      'activity log',
      `${names.get(chain_id) ?? `${chain_id} (deleted)`}, entry ${number}: ${detail}`,
    ),
  );
  if (faults_found > told.length)
    findings.push(fault('activity log', `${faults_found - told.length} more places differ.`));
  if (entries_changed === entries && entries > 0)
    findings.push(
      warning(
        'activity log',
        'no entry matches: check first that the server had this secret key then.',
      ),
    );
  else
    findings.push(
      warning(
        'activity log',
        'keep a copy of the database, then compare the log with a backup or an exported file.',
      ),
    );
  return findings;
}

/** Finds readable names of the chains: the organization's name, the person's address. */
async function chainNames(db: Database, ids: string[]): Promise<Map<string, string>> {
  const rows = await db.rows<{ id: string; name: string }>(sql`
    SELECT id, 'organization "' || name || '" (' || id || ')' AS name FROM organizations
      WHERE id = ANY (${ids}::uuid[])
    UNION ALL SELECT uuid, 'person ' || email || ' (' || uuid || ')' FROM users
      WHERE uuid = ANY (${ids}::uuid[])`);
  return new Map(rows.map((row) => [row.id, row.name]));
}
