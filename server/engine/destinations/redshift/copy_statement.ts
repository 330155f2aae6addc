import { textOf } from '../object_store/config_rules.ts';
import type { Column } from '../../model/models/column.ts';
import type { RedshiftConfig } from './config.ts';
import { columnList } from '../sql_tables/layout.ts';

/** Returns the text of COPY's manifest: every object must exist, and no other is loaded. */
export function manifestOf(config: RedshiftConfig, keys: string[]): string {
  return JSON.stringify({
    entries: keys.map((key) => ({ url: `s3://${config.bucket_name}/${key}`, mandatory: true })),
  });
}

/**
 * Returns the statement that loads the objects of a manifest. Without a role, it contains the
 * access key: see `withoutSecrets`.
 */
export function copyStatement(
  config: RedshiftConfig,
  load: { target: string; columns: Column[]; manifest: string; null_marker: string },
): string {
  const role = textOf(config.iam_role);
  const authorization =
    role === undefined
      ? `ACCESS_KEY_ID ${literal(config.aws_access_key_id)} SECRET_ACCESS_KEY ` +
        literal(config.aws_secret_access_key)
      : `IAM_ROLE ${role === 'default' ? 'default' : literal(role)}`;
  return [
    `COPY ${load.target} (${columnList(load.columns)})`,
    `FROM ${literal(`s3://${config.bucket_name}/${load.manifest}`)}`,
    authorization,
    `REGION ${literal(config.region)}`,
    'MANIFEST',
    'FORMAT AS CSV',
    'GZIP',
    `NULL AS ${literal(load.null_marker)}`,
    "TIMEFORMAT 'auto'",
    'COMPUPDATE OFF',
    'STATUPDATE OFF',
  ].join(' ');
}

/** `redshiftViolations` refuses everything else that a literal would have to escape. */
function literal(text: string | null | undefined): string {
  return `'${(text ?? '').replaceAll("'", "''")}'`;
}

/**
 * Runs a statement that contains the access key. Converts the server's fault to an error without
 * the key, which only keeps the server's SQLSTATE.
 */
export async function withoutSecrets<Result>(
  config: RedshiftConfig,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || !('severity' in error)) throw error;
    const secrets = [config.aws_secret_access_key, config.aws_access_key_id]
      .map(textOf)
      .filter((secret) => secret !== undefined);
    const message = secrets.reduce((said, secret) => said.replaceAll(secret, '...'), error.message);
    // No cause: other fields of the server's error may repeat the statement.
    throw Object.assign(new Error(message), { code: (error as { code?: string }).code });
  }
}
