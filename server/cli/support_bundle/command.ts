import { mkdtempSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { create } from 'tar';
import { addressesOf } from '../../platform/clickhouse/client.ts';
import { systemClock } from '../../platform/clock.ts';
import { silentLog } from '../../platform/log.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import { passwordOf } from '../../platform/postgres/hosts.ts';
import { openAnalyticsAsIs } from '../stores/analytics_store.ts';
import type { CommandContext } from '../command_context.ts';
import { doctor } from '../doctor/doctor.ts';
import { joinStores } from '../stores/stores.ts';
import { UserError } from '../user_error.ts';
import { secretsOfSettings, storedSecrets } from './known_secrets.ts';
import { logParts, servedParts, settingsPart, versionPart } from './machine_parts.ts';
import type { Part } from './machine_parts.ts';
import { openMask } from './mask.ts';
import type { Mask } from './mask.ts';
import { clickHouseParts, postgresParts } from './store_parts.ts';

/** `output`: the file to write. `log`: log files of the server. */
type BundleOptions = { output?: string; log?: string[] };

/**
 * Writes one file for people who are asked for help, and sends nothing. Guarantees: it works with
 * and without a running server, and changes and migrates nothing. Unavailable parts contain the
 * reason. Every text passes the mask, which knows the secrets of the settings and the stores.
 */
export async function supportBundle(
  context: CommandContext,
  { output, log: logs = [] }: BundleOptions,
): Promise<number> {
  const { config, say } = context;
  const stamp = new Date(systemClock.now()).toISOString().slice(0, 19).replaceAll(/[:T]/g, '-');
  const name = `sluice-support-${stamp}`;
  const target = resolve(output ?? `${name}.tar.gz`);
  const folder = openFolder(target);
  try {
    const parts = [
      versionPart(),
      settingsPart(config),
      await doctorPart(context),
      ...servedParts(config),
      ...logParts(config, logs),
    ];
    const written: string[] = [];
    const write = async (part: Part, mask: Mask) => {
      const text = mask(await readPart(part));
      const path = join(folder, name, part.name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text, { mode: 0o600 });
      written.push(`${part.name.padEnd(30)} ${part.about}, ${Buffer.byteLength(text)} bytes`);
      say(written.at(-1)!);
    };
    await withStores(context, async (known, store_parts) => {
      const mask = openMask(known);
      for (const part of [...parts, ...store_parts]) await write(part, mask);
    });
    const contents = ['Sluice sent this file nowhere. Secrets are masked.', '', ...written];
    writeFileSync(join(folder, name, 'CONTENTS.txt'), `${contents.join('\n')}\n`);
    const draft = join(folder, 'bundle.tar.gz');
    await create({ gzip: true, cwd: folder, file: draft, mode: 0o600 }, [name]);
    renameSync(draft, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  say('');
  say(
    `${target} was written. Nothing was sent: check its content, then give it to people ` +
      'whom you trust.',
  );
  return 0;
}

/** Opens a folder next to the target, so that the bundle appears complete. */
function openFolder(target: string): string {
  try {
    return mkdtempSync(join(dirname(target), '.sluice-support-'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(
      `${dirname(target)} cannot be written to (${code}); name another --output.`,
    );
  }
}

/** Never rejects, because the reason of a missing part is useful too. */
async function readPart(part: Part): Promise<string> {
  try {
    return await part.read();
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return `This part is not available: ${said}\n`;
  }
}

/** It runs before this process opens stores, which doctor would take for a running server. */
async function doctorPart({ config }: CommandContext): Promise<Part> {
  const lines: string[] = [];
  await doctor({ config, log: silentLog(), say: (line) => void lines.push(line) });
  return { name: 'doctor.txt', about: 'what doctor says', read: async () => lines.join('\n') };
}

/**
 * Reads the stores as they are, without opening a process or migrating. `work` gets the known
 * secrets and the stores' parts, or the reason why the stores are unavailable.
 */
async function withStores(
  { config }: CommandContext,
  work: (known: string[], parts: Part[]) => Promise<void>,
): Promise<void> {
  const known = secretsOfSettings(config);
  const none = (error: unknown): Part => ({
    name: 'stores.txt',
    about: 'why the stores were not asked',
    read: async () => `${error instanceof Error ? error.message : String(error)}
`,
  });
  const stores = await joinStores(config, silentLog(), { start: 'existing' }).catch(
    (error: unknown) => ({ error }),
  );
  if ('error' in stores) return work(known, [none(stores.error)]);
  const db = openDatabase(stores.database_url, {
    connections_max: 2,
    application_name: 'sluice-support-bundle',
  });
  const clickhouse = await openAnalyticsAsIs(config, stores, {
    application: 'sluice-support-bundle',
  });
  const passwords = [
    passwordOf(stores.database_url),
    ...addressesOf(stores.clickhouse_url).map((url) => decodeURIComponent(new URL(url).password)),
  ];
  try {
    const stored = await storedSecrets(config, db).catch(() => []);
    await work(
      [...known, ...passwords, ...stored],
      [...postgresParts(db), ...clickHouseParts(clickhouse)],
    );
  } finally {
    await clickhouse.close();
    await db.close();
    await stores.close();
  }
}
