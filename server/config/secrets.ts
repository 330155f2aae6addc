import { longEnough, secrets, setting } from './values.ts';

/** The server's secret key, and the passphrase that encrypts it in a backup. */
export const secret_settings = {
  secret_key: setting(
    'SLUICE_SECRET_KEY',
    '',
    longEnough(32),
    'Secret that hashes keys, encrypts credentials and signs receipts. It has at least 32 ' +
      'characters and is the same on every process. Default: created at the first start and kept ' +
      'in the data folder.',
  ),
  previous_secret_keys: setting(
    'SLUICE_PREVIOUS_SECRET_KEYS',
    '',
    secrets,
    'Former secrets, separated by commas, that still decrypt stored credentials while you ' +
      'exchange `SLUICE_SECRET_KEY` (docs/operating.md). Sluice encrypts nothing new with them. ' +
      'Needs `SLUICE_SECRET_KEY`.',
  ),
  backup_passphrase: setting(
    'SLUICE_BACKUP_PASSPHRASE',
    '',
    longEnough(12),
    'Passphrase with which `sluice backup` encrypts the secret key and `sluice restore` ' +
      'decrypts it (docs/backup.md). Keep it apart from the backups. Only these commands read it.',
  ),
};
