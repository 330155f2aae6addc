import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Fields } from '../../platform/fields.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import type { KindName } from '../managed/schema.ts';
import type { Plan } from './schema.ts';

/** The last applied state of a managed object; `secrets` are HMACs by path. */
export type Managed = {
  kind: KindName;
  object_id: string;
  parent_id: string;
  key: string;
  source: string;
  commit_id: string | null;
  fields: Fields;
  secrets: Record<string, string>;
  applied_at: string;
};

/** Lists all managed objects of an organization. Uses the primary key. */
export function listManaged(db: Queryable, organization_id: string): Promise<Managed[]> {
  return db.rows<Managed>(sql`
    SELECT kind, object_id, parent_id, key, source, commit_id, fields, secrets, applied_at
    FROM configuration_objects WHERE organization_id = ${organization_id}::uuid
    ORDER BY kind, object_id`);
}

/** Stores applied objects in one statement, in place of their earlier state. */
export async function keepManaged(
  tx: Transaction,
  organization_id: string,
  rows: readonly Managed[],
): Promise<void> {
  if (rows.length === 0) return;
  await tx.run(sql`
    INSERT INTO configuration_objects (organization_id, kind, object_id, parent_id, key, source,
      commit_id, fields, secrets, applied_at)
    SELECT ${organization_id}::uuid, r.kind, r.object_id, r.parent_id, r.key, r.source,
      r.commit_id, r.fields, r.secrets, r.applied_at
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS r (kind text, object_id text,
      parent_id text, key text, source text, commit_id text, fields jsonb, secrets jsonb,
      applied_at timestamptz)
    ON CONFLICT (organization_id, kind, object_id) DO UPDATE SET parent_id = EXCLUDED.parent_id,
      key = EXCLUDED.key, source = EXCLUDED.source, commit_id = EXCLUDED.commit_id,
      fields = EXCLUDED.fields, secrets = EXCLUDED.secrets, applied_at = EXCLUDED.applied_at`);
}

/** Deletes the bindings of objects that no longer exist. */
export async function forgetManaged(
  tx: Transaction,
  organization_id: string,
  rows: readonly Pick<Managed, 'kind' | 'object_id'>[],
): Promise<void> {
  if (rows.length === 0) return;
  await tx.run(sql`
    DELETE FROM configuration_objects c
    USING unnest(${rows.map((row) => row.kind)}::text[],
      ${rows.map((row) => row.object_id)}::text[]) AS gone (kind, object_id)
    WHERE c.organization_id = ${organization_id}::uuid AND c.kind = gone.kind
      AND c.object_id = gone.object_id`);
}

export type StoredPlan = {
  id: string;
  hash: string;
  request_sealed: Buffer;
  answer: Plan;
  versions: Record<string, string>;
  expires_at: string;
  applied_at: string | null;
};

/** Returns the sealing context for the request of a plan: only this plan's row can open it. */
export function planContext(plan_id: string): string {
  return `configuration_plans:${plan_id}:request`;
}

/** Stores a plan; storing the same plan again extends its time. */
export async function keepPlan(
  tx: Transaction,
  organization_id: string,
  plan: Omit<StoredPlan, 'expires_at' | 'applied_at'>,
): Promise<void> {
  const { id, hash, request_sealed, answer, versions } = plan;
  // Two people may request the same plan at the same time.
  await tx.run(sql`
    INSERT INTO configuration_plans (id, organization_id, hash, request_sealed, answer, versions,
      created_at, expires_at)
    VALUES (${id}, ${organization_id}::uuid, ${hash}, ${request_sealed},
      ${JSON.stringify(answer)}::jsonb, ${JSON.stringify(versions)}::jsonb,
      ${answer.created_at}::timestamptz, ${answer.expires_at}::timestamptz)
    ON CONFLICT (organization_id, hash) DO UPDATE SET id = excluded.id,
      request_sealed = excluded.request_sealed, answer = excluded.answer,
      versions = excluded.versions, created_at = excluded.created_at,
      expires_at = excluded.expires_at, applied_at = NULL`);
}

const hash_form = /^[0-9a-f]{1,200}$/;

/**
 * Returns the plan with this hash; with `lock`, nobody else can apply it until the transaction
 * ends.
 */
export async function findPlan(
  db: Queryable,
  organization_id: string,
  hash: string,
  lock: Sql,
): Promise<StoredPlan | undefined> {
  if (!hash_form.test(hash)) return undefined;
  return db.row<StoredPlan>(sql`
    SELECT id, hash, request_sealed, answer, versions, expires_at, applied_at
    FROM configuration_plans
    WHERE organization_id = ${organization_id}::uuid AND hash = ${hash} ${lock}`);
}

/** Records that the plan was applied. */
export async function markApplied(tx: Transaction, id: string, at: string): Promise<void> {
  await tx.run(
    sql`UPDATE configuration_plans SET applied_at = ${at}::timestamptz WHERE id = ${id}::uuid`,
  );
}

/** Removes plans that can no longer be applied. Uses configuration_plans_by_expiry. */
export async function sweepPlans(db: Queryable, before: string): Promise<void> {
  await db.run(sql`DELETE FROM configuration_plans WHERE expires_at < ${before}::timestamptz`);
}

/** The latest entry of the activity log about an object. */
export type LatestEntry = {
  scope: string;
  item_id: string;
  user: string | null;
  key: string | null;
  at: string;
};

/** Returns the latest entry about each object, by scope and id. Uses activity_by_item. */
export function listLatestEntries(
  db: Queryable,
  organization_id: string,
  items: readonly { scope: string; item_id: string }[],
): Promise<LatestEntry[]> {
  return db.rows<LatestEntry>(sql`
    SELECT asked.scope, asked.item_id, a.user_email AS user, a.key_mask AS key,
      a.created_at AS at
    FROM unnest(${items.map((one) => one.scope)}::text[],
      ${items.map((one) => one.item_id)}::text[]) AS asked (scope, item_id)
    CROSS JOIN LATERAL (
      SELECT a.user_email, a.key_mask, a.created_at FROM activity a
      WHERE a.chain_id = ${organization_id}::uuid AND a.item_id = asked.item_id
        AND a.scope = asked.scope ORDER BY a.number DESC LIMIT 1) a`);
}
