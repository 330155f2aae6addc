import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Database } from '../../../../platform/postgres/database.ts';
import type { Secrets } from '../../../../platform/secrets/secrets.ts';
import { configFields } from '../../tools/settings.ts';
import type { ToolDefinition } from '../../tools/tool.ts';
import { LeaseLostError, isHeld } from '../leases.ts';
import type { Lease } from '../leases.ts';
import { openPace } from './pace.ts';
import type { Pace } from './pace.ts';

/** A process that runs plugins, with the paces of its claimed accounts. */
export type PluginWorker = {
  id: string;
  /** Returns the pace of an account; all configs of the account share it. */
  paceOf(account: Buffer, learnt: number | null): Pace;
};

/** Opens a worker without accounts. */
export function openPluginWorker(): PluginWorker {
  const paces = new Map<string, WeakRef<Pace>>();
  return {
    id: randomUUID(),
    paceOf: (account, learnt) => {
      // Removes paces that no loaded config uses.
      for (const [key, pace] of paces) if (pace.deref() === undefined) paces.delete(key);
      const key = account.toString('hex');
      const known = paces.get(key)?.deref();
      const pace = known ?? openPace(learnt, () => performance.now());
      if (known === undefined) paces.set(key, new WeakRef(pace));
      return pace;
    },
  };
}

/** The account of an OAuth connection; null: the vendor does not name it. */
type Connected = { application_id: string; account: string | null };

/**
 * Returns the account of a config, as a hash under the server's key; undefined if no other config
 * could share it.
 */
export async function findAccount(
  { db, secrets }: { db: Database; secrets: Pick<Secrets, 'hash'> },
  config_id: number,
  organization_id: string,
  definition: Pick<ToolDefinition, 'directory' | 'settings'>,
  config: Record<string, unknown>,
): Promise<Buffer | undefined> {
  const connected = await db.row<Connected>(sql`SELECT application_id, account
    FROM plugin_oauth_connections WHERE plugin_config_id = ${config_id}`);
  return accountOf(secrets, organization_id, definition, config, connected);
}

/**
 * Returns the account of the settings: the tool, its secrets or the authorized OAuth application,
 * and all fields that say where they apply. Undefined if the settings name none: the tool has no
 * secret, or its mappings contain the address. Organizations never share an account.
 */
export function accountOf(
  secrets: Pick<Secrets, 'hash'>,
  organization_id: string,
  { directory, settings }: Pick<ToolDefinition, 'directory' | 'settings'>,
  config: Record<string, unknown>,
  connected?: Connected,
): Buffer | undefined {
  if (directory.includes('webhook') || directory.includes('http')) return undefined;
  const given = configFields(settings).filter(
    ({ key }) => Object.hasOwn(settings, key!) && (config[key!] ?? '') !== '',
  );
  if (connected === undefined && !given.some(({ secret }) => secret === true)) return undefined;
  // A switch says nothing about the account.
  const telling = given.filter(({ key }) => settings[key!]!.type !== 'boolean');
  const values = telling
    .map(({ key }) => [key!, config[key!]] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  const { application_id, account } = connected ?? {};
  return secrets.hash(
    JSON.stringify(['plugin account', organization_id, directory, values, application_id, account]),
  );
}

/** The class of locks by which workers claim accounts. */
const account_lock_class = 7_301_030;

/**
 * Claims the account for the worker that holds the config, and returns their common pace. One
 * worker holds all configs of an account, because only its memory knows the pace. Throws a
 * LeaseLostError if another worker holds it: that one claims the config next.
 */
export async function takeAccount(
  db: Database,
  worker: PluginWorker,
  lease: Lease,
  account: Buffer,
): Promise<Pace> {
  const { learnt, is_taken } = await db.transaction(async (tx) => {
    await tx.row(sql`SELECT pg_advisory_xact_lock(${account_lock_class}::integer,
      ${account.readInt32BE()}::integer)`);
    const row = await tx.row<{ learnt: number | null; is_taken: boolean }>(sql`
      UPDATE plugin_cursors SET account = ${account} WHERE ${isHeld(lease)}
      RETURNING (SELECT o.pace FROM plugin_cursors o WHERE o.account = ${account}
          AND o.pace IS NOT NULL ORDER BY o.updated_at DESC LIMIT 1) AS learnt,
        EXISTS (SELECT 1 FROM plugin_cursors o WHERE o.account = ${account}
          AND o.account_worker <> ${worker.id}::uuid AND o.leased_until >= now()) AS is_taken`);
    if (row === undefined) throw new LeaseLostError();
    await tx.run(
      row.is_taken
        ? sql`UPDATE plugin_cursors SET leased_by = NULL, leased_until = NULL,
            served_at = now() WHERE ${isHeld(lease)}`
        : sql`UPDATE plugin_cursors SET account_worker = ${worker.id}::uuid
            WHERE ${isHeld(lease)}`,
    );
    return row;
  });
  if (is_taken) throw new LeaseLostError();
  return worker.paceOf(account, learnt);
}

/** Records that the config has no shared account. */
export async function leaveAccount(db: Database, lease: Lease): Promise<void> {
  await db.run(sql`UPDATE plugin_cursors SET account = NULL, account_worker = NULL
    WHERE ${isHeld(lease)} AND account IS NOT NULL`);
}
