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

/** `output`: the file that is written. `log`: files with the log of the server. */
type BundleOptions = { output?: string; log?: string[] };

/**
 * Writes one file with what somebody needs who is asked for help: nothing is sent. Guarantees:
 * it works beside a server and without one, and nothing is migrated or changed; what cannot be
 * learned stands in the bundle as the reason; every text passes the mask, which knows the secrets
 * of the settings and of the stores.
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
  say(`${target} is written. Nothing was sent: look into it, then give it to whom you trust.`);
  return 0;
}

/** A folder beside the target, so that the bundle appears whole. */
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

/** Never rejects: why a part is missing is worth knowing too. */
async function readPart(part: Part): Promise<string> {
  try {
    return await part.read();
  } catch (error) {
    return `This could not be learned: ${error instanceof Error ? error.message : String(error)}\n`;
  }
}

/** It looks before stores are opened here, which would be those of a running server to it. */
async function doctorPart({ config }: CommandContext): Promise<Part> {
  const lines: string[] = [];
  await doctor({ config, log: silentLog(), say: (line) => void lines.push(line) });
  return { name: 'doctor.txt', about: 'what doctor says', read: async () => lines.join('\n') };
}

/**
 * Looks into the stores as they are: no process is opened on them, nothing is migrated. `work` is
 * given the secrets that are known, and what the stores can tell; without them, why not.
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
