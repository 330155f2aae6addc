import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { fieldsOf } from '../config_schema.ts';
import { PluginError } from '../plugin.ts';
import type { ConfigField } from '../plugin.ts';
import { run_changed_at, run_config_schema, run_version_id } from '../run_version.ts';
import { loadConfigVersion } from '../versions.ts';
import type { Running } from './running.ts';
import { stopConfig } from './stop_config.ts';

/** The enabled site apps of a project, and a fingerprint of their script. */
type SiteApps = { fingerprint: string; apps: SiteApp[] };

/** An enabled config of a frontend app. `config` has the values that are not secret. */
type SiteApp = {
  id: number;
  name: string | null;
  config: Record<string, unknown>;
  config_schema: unknown;
};

/**
 * Finds the site apps of a project in order; none while its organization may not use plugins.
 * Undefined: no project has the token. Uses projects_site_token_unique and
 * plugin_configs_by_project.
 */
export function findSiteApps(db: Queryable, site_token: string): Promise<SiteApps | undefined> {
  return db.row<SiteApps>(sql`
    SELECT coalesce(string_agg(concat_ws(' ', c.id, ${run_changed_at}, ${run_version_id}), ';'
      ORDER BY c."order", c.id), '') AS fingerprint,
      coalesce(json_agg(json_build_object('id', c.id, 'name', p.name, 'config', c.config,
        'config_schema', ${run_config_schema}) ORDER BY c."order", c.id)
        FILTER (WHERE c.id IS NOT NULL), '[]') AS apps
    FROM projects t JOIN organizations o ON o.id = t.organization_id
    LEFT JOIN (plugin_configs c JOIN plugins p ON p.id = c.plugin_id
      AND p.collection = 'pipeline_frontend_apps' AND ${run_version_id} IS NOT NULL)
      ON c.team_id = t.id AND c.enabled AND o.plugins_access_level > 0
    WHERE t.site_token = ${site_token} GROUP BY t.id`);
}

/**
 * Builds one script of all the apps. Guarantees: the apps run in order. A fault of one stops no
 * other. The script only contains settings of `site` fields, and never a secret. Code that differs
 * from the installed one is omitted, and its config is stopped with the reason.
 */
export async function buildSiteScript(
  running: Pick<Running, 'db' | 'secrets'>,
  { apps }: SiteApps,
): Promise<string> {
  const parts: string[] = [];
  for (const app of apps) {
    try {
      const { code } = await loadConfigVersion(running.db, running.secrets, app.id);
      if (code.site !== null) parts.push(scriptOf(app, code.site));
    } catch (error) {
      if (!(error instanceof PluginError)) throw error;
      if (error.code === 'refused') await stopConfig(running, app.id, error.message);
    }
  }
  return parts.join('');
}

function scriptOf({ id, name, config, config_schema }: SiteApp, site: string): string {
  const shown = JSON.stringify(siteConfig(fieldsOf(config_schema), config));
  const label = JSON.stringify(`Site app ${id} (${name ?? 'without a name'}) failed:`);
  // The app is an expression in a function of its own, and only it waits for its promise.
  return `(function () {
  var fail = function (error) { console.error(${label}, error); };
  try {
    var app = ${site};
    var inject = app.inject || (app.default && app.default.inject);
    if (typeof inject === "function") Promise.resolve(inject({
      config: ${shown},
      posthog: window.posthog,
      sluice: window.sluice
    })).catch(fail);
  } catch (error) { fail(error); }
})();
`;
}

/** Returns the values of `site` fields that are no secrets, with defaults. */
function siteConfig(
  fields: ConfigField[],
  config: Record<string, unknown>,
): Record<string, unknown> {
  const open = fields.filter(({ site, secret }) => site === true && secret !== true);
  return Object.fromEntries(
    open
      .map(({ key, default: standard }) => [
        key!,
        (Object.hasOwn(config, key!) ? config[key!] : undefined) ?? standard,
      ])
      .filter(([, value]) => value !== undefined && value !== null),
  );
}
