import { readFileSync, readdirSync } from 'node:fs';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { version } from '../../platform/version.ts';
import { migrations_folder } from '../process/process.ts';
import { UserError } from '../user_error.ts';
import type { Manifest } from './manifest.ts';

/** Throws for a backup of a newer release, which has unknown tables. */
export function requireKnownSchema({ migrations, analytics_migrations, release }: Manifest): void {
  const analytics = readdirSync(join(migrations_folder, 'clickhouse'));
  const own = new Map(
    readdirSync(migrations_folder)
      .filter((name) => name.endsWith('.sql'))
      .map((name) => [name, hash('sha256', readFileSync(join(migrations_folder, name), 'utf8'))]),
  );
  const unknown =
    migrations.find(({ name, sha256 }) => own.get(name) !== sha256)?.name ??
    analytics_migrations.find((name) => !analytics.includes(name));
  if (unknown !== undefined)
    throw new UserError(
      `The backup was created by Sluice ${release} and has the migration ${unknown}, which this ` +
        `Sluice ${version} does not know. Restore it with ${release} or a newer one.`,
    );
}
