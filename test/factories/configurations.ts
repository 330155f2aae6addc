import sql from 'sql-template-tag';
import type { Answer, Harness, TestOrganization } from '../harness.ts';

/** The configuration of a separate organization, as a test requests it. */
export type Configurations = {
  home: TestOrganization;
  plan(configuration: unknown, more?: object): Promise<Answer>;
  apply(hash: string): Promise<Answer>;
  pull(): Promise<Answer>;
  /** Plans and applies; throws if the server refuses one of them. */
  put(configuration: unknown, more?: object): Promise<Answer>;
  /** A configuration with values in place of its references to variables. */
  answered(configuration: unknown, valueOf: (env: string) => string): unknown;
};

/** An organization whose owner's key requests the plans. */
export async function openConfigurations(
  harness: Harness,
  given?: TestOrganization,
): Promise<Configurations> {
  const home = given ?? (await harness.newOrganization());
  const base = `/api/organizations/${home.organization.id}/configuration/`;
  const ask = (method: string, path: string, body?: unknown) =>
    harness.request(method, `${base}${path}`, { key: home.key, body });
  const plan = (configuration: unknown, more: object = {}) =>
    ask('POST', 'plan/', { configuration, ...more });
  const apply = (hash: string) => ask('POST', 'apply/', { hash });
  return {
    home,
    plan,
    apply,
    pull: () => ask('GET', ''),
    put: async (configuration, more) => {
      const planned = await plan(configuration, more);
      if (planned.status !== 201) throw new Error(`plan/ answered ${planned.text}`);
      const applied = await apply(planned.body.hash);
      if (applied.status !== 200) throw new Error(`apply/ answered ${applied.text}`);
      return applied;
    },
    answered,
  };
}

function answered(value: unknown, valueOf: (env: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => answered(one, valueOf));
  if (typeof value !== 'object' || value === null) return value;
  const { env } = value as { env?: unknown };
  if (typeof env === 'string') return { secret: valueOf(env) };
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, answered(one, valueOf)]),
  );
}

/** Makes the configuration `warehouse` manage an export, as if it had been applied. */
export async function manageByCode(
  harness: Harness,
  { organization, project }: TestOrganization,
  export_id: string,
): Promise<void> {
  await harness.deps.db.run(sql`
    INSERT INTO configuration_objects (organization_id, kind, object_id, parent_id, key, source,
      fields, secrets, applied_at)
    VALUES (${organization.id}::uuid, 'batch_export', ${export_id}, ${String(project.id)}, 'main',
      'warehouse', '{}', '{}', now())`);
}
