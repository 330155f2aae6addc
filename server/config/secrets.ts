import { longEnough, secrets, setting } from './values.ts';

/** The server's secret key, and what a backup holds it under. */
export const secret_settings = {
  secret_key: setting(
    'SLUICE_SECRET_KEY',
    '',
    longEnough(32),
    'Secret under which keys are hashed, credentials are encrypted and receipts are signed; ' +
      'at least 32 characters, the same on every process. Default: created at the first start ' +
      'and kept in the data folder.',
  ),
  previous_secret_keys: setting(
    'SLUICE_PREVIOUS_SECRET_KEYS',
    '',
    secrets,
    'Further secrets, separated by commas, under which stored credentials can still be opened ' +
      'while `SLUICE_SECRET_KEY` is exchanged (docs/operating.md); nothing new is stored under ' +
      'them. Needs `SLUICE_SECRET_KEY`.',
  ),
  backup_passphrase: setting(
    'SLUICE_BACKUP_PASSPHRASE',
    '',
    longEnough(12),
    'Passphrase under which `sluice backup` keeps the secret key, and `sluice restore` finds it ' +
      'again (docs/backup.md). Keep it apart from the backups. Only these commands read it.',
  ),
};
