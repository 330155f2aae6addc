import { Option } from 'commander';
import type { Command } from 'commander';
import type { Wrap } from './command_context.ts';

const place = 'a folder, or s3://bucket/prefix?region=...&endpoint=...';
const passphrase = ['--passphrase-file <path>', 'default SLUICE_BACKUP_PASSPHRASE'] as const;

/** `sluice backup`, `restore`, `reconcile` and `drill` (see docs/backup.md). */
export function addBackupCommands(program: Command, wrap: Wrap): void {
  program
    .command('backup')
    .description('copy both stores and the secret key while the server runs')
    .argument('<place>', place)
    .option(...passphrase)
    .option('--keep <n>', 'remove all but the newest n backups afterwards')
    .option('--rows-per-file <n>', 'most rows in a file of events or persons')
    .addOption(
      new Option('--check', 'change nothing: read a whole backup, and compare it').conflicts([
        'keep',
        'rowsPerFile',
      ]),
    )
    .option('--to <instant>', 'with --check, the newest at or before it; default the newest')
    .option('--json', 'with --check print JSON')
    .action(wrap(async () => (await import('./backup/backup.ts')).backup));
  program
    .command('restore')
    .description('bring a backup into an empty data folder, and reconcile it with destinations')
    .argument('<place>', place)
    .option(...passphrase)
    .option('--to <instant>', 'the newest backup at or before it; default the newest')
    .option('--lost <store>', 'postgres or clickhouse: restore only this one, and keep the other')
    .option('--json', 'print JSON')
    .action(wrap(async () => (await import('./backup/restore.ts')).restore));
  program
    .command('reconcile')
    .description(
      "after a restore: enter deliveries from the destinations' receipts, and resume exports",
    )
    .option('--export <id>', 'one export only; default all that wait for it')
    .option('--assume <what>', 'delivered or missing, if the destination cannot say')
    .option('--json', 'print JSON')
    .action(wrap(async () => (await import('./backup/reconcile.ts')).reconcile));
  program
    .command('drill')
    .description('back up, restore into a temporary place, compare row by row, report the time')
    .option('--from <place>', 'restore the newest backup of this place instead of creating one')
    .option(...passphrase)
    .action(wrap(async () => (await import('./backup/drill.ts')).drill));
}

/** `sluice migrate-store` (see docs/clickhouse_cluster.md). */
export function addMigrateStoreCommand(program: Command, wrap: Wrap): void {
  program
    .command('migrate-store')
    .description('move events and persons into another ClickHouse (docs/clickhouse_cluster.md)')
    .option('--to <url>', 'the other ClickHouse; of a cluster every replica, with commas')
    .option('--to-cluster <name>', 'its name in system.clusters, as SLUICE_CLICKHOUSE_CLUSTER')
    .option('--switch', "copy the last rows, and close the server's store to writes")
    .addOption(new Option('--undo', 'give the server its store back').conflicts(['to', 'switch']))
    .action(wrap(async () => (await import('./migrate_store/command.ts')).migrateStore));
}

/** `sluice leave` (see docs/leaving.md). */
export function addLeaveCommand(program: Command, wrap: Wrap): void {
  program
    .command('leave')
    .description('write everything as open files: Parquet, YAML, JSON lines (docs/leaving.md)')
    .requiredOption('--to <folder>', 'an empty folder, or one that this command has started')
    .option('--organization <name...>', 'names or ids; default all')
    .option('--with-secrets', 'with secrets.env: the readable credentials of exports and tools')
    .action(wrap(async () => (await import('./leave/leave.ts')).leave));
}
