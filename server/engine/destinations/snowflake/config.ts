import { createPrivateKey } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { ConfigViolation } from '../../model/destination/destination.ts';
import { textOf } from '../object_store/config_rules.ts';
import { quoted } from '../sql_tables/layout.ts';
import {
  defaultChoice,
  defaultText,
  optionalText,
  requiredText,
} from '../../model/destination/config_keys.ts';
import { violation } from '../../model/destination/violation.ts';
import { nulViolations, ownNameViolations } from '../sql_tables/config_rules.ts';
import { receipts_table } from '../sql_tables/receipts.ts';
import { rejectedName } from '../sql_tables/target.ts';
import type { RejectingTarget } from '../sql_tables/target.ts';
import { takesTooMuchWork } from './key_work.ts';

const name_characters_max = 255;

/** The keys of a Snowflake destination. */
export const snowflake_config = Type.Object(
  {
    account: requiredText(
      200,
      'The organization and the account, such as myorganization-myaccount. A locator with its ' +
        'region works too, such as xy12345.eu-central-1.',
    ),
    user: requiredText(name_characters_max, 'The login name.'),
    authentication_type: defaultChoice(
      ['password', 'keypair'],
      'A user of the type SERVICE needs `keypair`.',
    ),
    password: optionalText(1000, 'Needed to sign in with `password`.'),
    private_key: optionalText(
      20_000,
      'An RSA key in PEM format. Needed to sign in with `keypair`.',
    ),
    private_key_passphrase: optionalText(1000, 'Needed if the private key is encrypted.'),
    role: optionalText(
      name_characters_max,
      "The exact name. If null or empty, Sluice uses the user's default role.",
    ),
    warehouse: requiredText(name_characters_max, 'The exact name. It must exist.'),
    database: requiredText(name_characters_max, 'The exact name. It must exist.'),
    schema: requiredText(name_characters_max, 'The exact name. It must exist.'),
    table_name: defaultText(
      'events',
      name_characters_max,
      'The exact name. Sluice creates the table if it does not exist, and alters it only to add ' +
        'typed columns.',
    ),
    host: optionalText(
      300,
      'Host and port, if the account has an address of its own. If null or empty, Sluice uses ' +
        '<account>.snowflakecomputing.com.',
    ),
  },
  { additionalProperties: false },
);

/** The values of the keys that a user has set. */
export type SnowflakeConfig = Static<typeof snowflake_config>;

/** The credentials: one of the two. The key is PKCS #8 in PEM, not encrypted. */
type SnowflakeCredentials = { password: string } | { private_key: string };

/**
 * Returns the quoted names of the table, the receipts and the rejected rows, and the plain names
 * for users. All are names of the session's database and schema.
 */
export function targetOf(config: SnowflakeConfig): RejectingTarget {
  const table = config.table_name ?? 'events';
  return {
    table,
    quoted: quoted(table),
    receipts: quoted(receipts_table),
    rejected: quoted(rejectedName(table)),
    name: `${config.database}.${config.schema}.${table}`,
  };
}

/**
 * Returns the address of the account. An underscore of the account's name becomes a hyphen there,
 * because host names have none.
 */
export function addressOf(config: SnowflakeConfig): { host: string; port: number } {
  const [host = '', port] = (
    textOf(config.host) ?? `${config.account.replaceAll('_', '-')}.snowflakecomputing.com`
  ).split(':');
  return { host: host.toLowerCase(), port: port === undefined ? 443 : Number(port) };
}

/** Returns the credentials of a valid config; throws for an invalid one. */
export function credentialsOf(config: SnowflakeConfig): SnowflakeCredentials {
  if (config.authentication_type !== 'keypair') {
    const password = textOf(config.password);
    if (password === undefined) throw new TypeError('The config has no password.');
    return { password };
  }
  const private_key = readPrivateKey(config);
  if (private_key === undefined)
    throw new TypeError('The config has no private key that can be read.');
  return { private_key };
}

/**
 * Returns the key in PKCS #8, or undefined if it is no complete RSA key or the passphrase does not
 * open it.
 */
function readPrivateKey(config: SnowflakeConfig): string | undefined {
  try {
    const passphrase = textOf(config.private_key_passphrase);
    const key = createPrivateKey({
      key: textOf(config.private_key) ?? '',
      ...(passphrase === undefined ? {} : { passphrase }),
    });
    return key.asymmetricKeyType === 'rsa'
      ? key.export({ format: 'pem', type: 'pkcs8' }).toString()
      : undefined;
  } catch {
    return undefined;
  }
}

/** Checks rules that the schema cannot express. */
export function snowflakeViolations(config: SnowflakeConfig): ConfigViolation[] {
  const found = credentialViolations(config);
  if (!/^[0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?$/.test(config.account)) {
    found.push(
      violation(
        'account',
        'The account is an identifier such as myorganization-myaccount, without a protocol, a ' +
          'path or .snowflakecomputing.com.',
      ),
    );
  } else if (config.account.toLowerCase().includes('snowflakecomputing')) {
    found.push(violation('account', 'Leave .snowflakecomputing.com out of the account.'));
  }
  const host = textOf(config.host);
  if (host !== undefined && !isHostAndPort(host))
    found.push(
      violation(
        'host',
        'The host must be a host name, with a port or without, and without a protocol or a path.',
      ),
    );
  return [
    ...found,
    ...ownNameViolations(config.table_name?.toLowerCase()),
    ...nulViolations(config, [
      'user',
      'password',
      'database',
      'warehouse',
      'schema',
      'table_name',
      'role',
    ]),
  ];
}

function isHostAndPort(text: string): boolean {
  const found = /^[0-9A-Za-z](?:[0-9A-Za-z._-]*[0-9A-Za-z])?(?::([0-9]{1,5}))?$/.exec(text);
  const port = Number(found?.[1] ?? 443);
  return found !== null && port >= 1 && port <= 65_535;
}

function credentialViolations(config: SnowflakeConfig): ConfigViolation[] {
  if (config.authentication_type !== 'keypair') {
    if (textOf(config.password) !== undefined) return [];
    return [
      violation('password', 'The authentication_type password needs a password.', 'required'),
    ];
  }
  if (textOf(config.private_key) === undefined)
    return [
      violation('private_key', 'The authentication_type keypair needs a private key.', 'required'),
    ];
  if (takesTooMuchWork(textOf(config.private_key)!))
    return [
      violation(
        'private_key',
        'Its passphrase takes too much work to open it. Encrypt the key with fewer iterations: ' +
          '`openssl pkcs8 -topk8 -iter 2048`.',
      ),
    ];
  if (readPrivateKey(config) !== undefined) return [];
  return [
    violation(
      'private_key',
      'The private key is not a complete RSA key in PEM, or the passphrase does not decrypt it.',
    ),
  ];
}
