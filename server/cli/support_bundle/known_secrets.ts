import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { addressesOf } from '../../platform/clickhouse/client.ts';
import { passwordOf } from '../../platform/postgres/hosts.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { keptSecretKeys } from '../../platform/secrets/kept_secret_keys.ts';
import { openSecrets } from '../../platform/secrets/secrets.ts';
import { sealed_fields } from '../sealed_fields.ts';

/**
 * Secrets that customers entrusted to us; other sealed fields are copies, or disappear within
 * minutes.
 */
const searched = new Set([
  'users',
  'batch_exports',
  'connections',
  'ingestion_rule_sets',
  'notice_targets',
  'plugins',
  'plugin_configs',
]);

/** The secrets of the settings and of the data folder. */
export function secretsOfSettings(config: Config): string[] {
  const keys = secretKeysOf(config);
  const { clickhouse_url = '', smtp_url, https_proxy, http_proxy } = config;
  const urls = [...addressesOf(clickhouse_url), smtp_url, https_proxy, http_proxy];
  const passwords = urls.flatMap((url) =>
    url === undefined || !URL.canParse(url) ? [] : [decodeURIComponent(new URL(url).password)],
  );
  if (config.database_url !== undefined) passwords.push(passwordOf(config.database_url));
  const headers = [config.otel_headers, config.otel_traces_headers].flatMap((one) =>
    Object.values(one ?? {}),
  );
  const named = Object.entries(config).flatMap(([name, value]) =>
    typeof value === 'string' && /secret|pass|token|api_key/.test(name) ? [value] : [],
  );
  return [...keys, ...passwords, ...headers, ...named];
}

/**
 * Lists the stored secrets of exports, notices, plugins and second factors, so that the mask can
 * find them. A secret that cannot be opened is left out, because no plain copy exists either.
 */
export async function storedSecrets(config: Config, db: Database): Promise<string[]> {
  const [first, ...others] = secretKeysOf(config);
  if (first === undefined) return [];
  const secrets = openSecrets(() => [first, ...others]);
  const found: string[] = [];
  for (const { table, id, field, context } of sealed_fields) {
    if (!searched.has(table)) continue;
    const { rows } = await db.text(
      `SELECT ${id}::text AS id, ${field} AS sealed FROM ${table} WHERE ${field} IS NOT NULL`,
    );
    for (const row of rows)
      try {
        collect(secrets.open(row['sealed'] as Buffer, context(String(row['id']))), found);
      } catch {
        // Sealed under an unknown key.
      }
  }
  return found;
}

function secretKeysOf({ secret_key, previous_secret_keys, data_dir }: Config): string[] {
  if (secret_key !== undefined) return [secret_key, ...previous_secret_keys];
  return existsSync(join(data_dir, 'secret_key')) ? [...keptSecretKeys(data_dir)] : [];
}

/** Collects a sealed text, or each text in sealed JSON. */
function collect(text: string, found: string[]): void {
  found.push(text);
  try {
    JSON.parse(text, (_name, value: unknown) => {
      if (typeof value === 'string') found.push(value);
      return value;
    });
  } catch {
    // The text is no JSON.
  }
}
