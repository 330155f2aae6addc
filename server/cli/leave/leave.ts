import { Readable } from 'node:stream';
import sql from 'sql-template-tag';
import { openCopySession } from '../../platform/postgres/copy.ts';
import type { CopySession } from '../../platform/postgres/copy.ts';
import { counted } from '../../platform/counted.ts';
import { isoInstant } from '../../platform/clock.ts';
import { version } from '../../platform/version.ts';
import { findCut } from '../backup/analytics_copy.ts';
import type { CommandContext } from '../command_context.ts';
import type { OpenProcess } from '../process/process.ts';
import { signal_exit_codes, stopSignal } from '../process/stop_signal.ts';
import type { StopSignal } from '../process/stop_signal.ts';
import { withProcess } from '../process/with_process.ts';
import { UserError } from '../user_error.ts';
import { leftConfiguration } from './configuration.ts';
import { openLeftFolder } from './left_folder.ts';
import type { LeftFolder } from './left_folder.ts';
import { readme } from './readme.ts';
import { writeRows } from './rows.ts';
import { openLines, organization_files, project_files } from './tables.ts';

/** The options of `sluice leave` on the command line. */
type LeaveFlags = { to: string; organization?: string[]; withSecrets?: boolean };

type Leaving = { id: string; name: string; slug: string; projects: number[] };

/**
 * `sluice leave`: writes all data of the organizations into a folder of open files, while the
 * server runs. After an interruption, the same command continues. Exit code 0: the folder is
 * complete.
 */
export async function leave(context: CommandContext, flags: LeaveFlags): Promise<number> {
  const stopping = new AbortController();
  let code = 0;
  const stop = (signal: StopSignal) => {
    code = signal_exit_codes[signal];
    stopping.abort();
  };
  void stopSignal().then(stop);
  try {
    await leaveTo(context, flags, stopping.signal);
    return 0;
  } catch (error) {
    if (code === 0) throw error;
    context.say('Stopped. The same command continues from here.');
    return code;
  }
}

/** Like `leave`; throws the reason of an abort. */
export async function leaveTo(
  context: CommandContext,
  { to, organization = [], withSecrets = false }: LeaveFlags,
  signal: AbortSignal,
): Promise<void> {
  const began = performance.now();
  let database_url = '';
  const work = async (opened: OpenProcess) => {
    const { deps } = opened;
    const organizations = await findLeaving(opened, organization);
    const of = {
      server: deps.secrets.public_key,
      organizations: organizations.map(({ id }) => id),
    };
    const folder = await openLeftFolder(to, of, async () => ({
      ...of,
      sluice: version,
      until: isoInstant(await findCut(deps.db, deps.config.settle_seconds)),
    }));
    const writing = { opened, folder, tell: context.say, signal };
    await writeControl(writing, database_url, organizations, withSecrets);
    for (const { slug, projects } of organizations)
      for (const id of projects)
        await writeRows(deps.engine, folder, { id, path: projectPath(slug, id) }, writing);
    await folder.write('README.md', async () => text(readme(folder.head, withSecrets)));
    await folder.finish({ organizations });
    tellDone(context, to, folder, performance.now() - began);
  };
  await withProcess(context, work, {}, async (stores) => void (database_url = stores.database_url));
}

type Writing = {
  opened: OpenProcess;
  folder: LeftFolder;
  tell(line: string): void;
  signal: AbortSignal;
};

const projectPath = (slug: string, id: number) => `${slug}/project_${id}`;

/**
 * Writes the data of the control store. All files come from one instant, unless there was an
 * interruption.
 */
async function writeControl(
  { opened: { deps }, folder, tell, signal }: Writing,
  database_url: string,
  organizations: Leaving[],
  with_secrets: boolean,
): Promise<void> {
  const session = await openCopySession(database_url, 'snapshot');
  try {
    for (const { id, slug, projects } of organizations) {
      signal.throwIfAborted();
      const { yaml, secrets } = await leftConfiguration(deps, id);
      await folder.write(`${slug}/configuration.yaml`, async () => text(yaml));
      if (with_secrets) await folder.write(`${slug}/secrets.env`, async () => text(secrets));
      await writeLines(session, folder, slug, organization_files, id);
      for (const project of projects)
        await writeLines(session, folder, projectPath(slug, project), project_files, `${project}`);
      tell(`${slug}: configuration, people, logs and ${counted(projects.length, 'project')}`);
    }
  } finally {
    await session.close();
  }
}

async function writeLines(
  session: CopySession,
  folder: LeftFolder,
  path: string,
  files: typeof organization_files,
  id: string,
): Promise<void> {
  for (const file of files)
    await folder.write(`${path}/${file.file}.jsonl`, async () => {
      const { bytes, count } = await openLines(session, file, id);
      return { bytes, rows: count };
    });
}

async function findLeaving({ deps: { db } }: OpenProcess, asked: string[]): Promise<Leaving[]> {
  const all = await db.rows<Leaving>(sql`
    SELECT id, name, slug, coalesce((SELECT json_agg(project.id ORDER BY project.id)
      FROM projects project WHERE project.organization_id = organization.id), '[]') AS projects
    FROM organizations organization ORDER BY created_at, id`);
  const named = asked.map((text_of) => {
    const found = all.filter(({ id, name, slug }) => [id, name, slug].includes(text_of));
    if (found.length === 1) return found[0]!;
    throw new UserError(
      found.length === 0
        ? `There is no organization ${text_of}.`
        : `Several organizations have the name ${text_of}: use an id.`,
    );
  });
  return asked.length === 0 ? all : [...new Set(named)];
}

function text(content: string) {
  return { bytes: Readable.from([Buffer.from(content)]), rows: () => null };
}

function tellDone(context: CommandContext, to: string, folder: LeftFolder, ms: number): void {
  const files = [...folder.files.values()];
  const rows = (model: string) =>
    files.reduce((sum, one) => sum + (one.path.includes(`/${model}/`) ? (one.rows ?? 0) : 0), 0);
  const bytes = files.reduce((sum, one) => sum + one.bytes, 0);
  context.say(
    `${to} has everything that was ingested before ${folder.head.until}: ` +
      `${counted(rows('events'), 'event')}, ${counted(rows('persons'), 'person')}, ` +
      `${counted(files.length, 'file')}, ${counted(bytes, 'byte')}, in ` +
      `${(ms / 1_000).toFixed(1)} s. README.md explains each file.`,
  );
}
