import sql from 'sql-template-tag';
import { appendActivity, server_actor } from '../../../platform/activity/chain.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import type { Running } from './running.ts';

/**
 * Disables a config, with the reason (a sentence) in its `error`, in its log and in one entry of
 * the server in the activity log: all or nothing. The cursor stays: when it is enabled again, the
 * plugin continues from there. Does nothing for a disabled config.
 */
export async function stopConfig(
  { db, secrets }: Pick<Running, 'db' | 'secrets'>,
  config_id: number,
  error: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const stopped = await tx.row<{ team_id: number; plugin_id: number }>(sql`
      UPDATE plugin_configs SET enabled = false, error = ${error}, error_at = now(),
        updated_at = now() WHERE id = ${config_id} AND enabled RETURNING team_id, plugin_id`);
    if (stopped === undefined) return;
    await tx.run(sql`
      UPDATE plugin_cursors SET leased_by = NULL, leased_until = NULL, stopped_at = now(),
        updated_at = now() WHERE plugin_config_id = ${config_id}`);
    await tx.run(
      sql`INSERT INTO plugin_logs (plugin_config_id, level, message)
        VALUES (${config_id}, 'ERROR', ${error})`,
    );
    await appendEntry(tx, secrets, config_id, error);
  });
}

async function appendEntry(
  tx: Transaction,
  secrets: Running['secrets'],
  config_id: number,
  error: string,
): Promise<void> {
  const { organization_id, name } = (await tx.row<{
    organization_id: string;
    name: string | null;
  }>(sql`
    SELECT t.organization_id, p.name FROM plugin_configs c JOIN projects t ON t.id = c.team_id
      JOIN plugins p ON p.id = c.plugin_id WHERE c.id = ${config_id}`))!;
  const changes = changesOf({ enabled: true, error: null }, { enabled: false, error });
  const entry = {
    activity: 'stopped',
    scope: 'plugin_config',
    item_id: String(config_id),
    item_name: name,
    changes,
  };
  await appendActivity(tx, secrets, { organization_id }, server_actor, entry);
}
