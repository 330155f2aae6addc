import { createPrivateKey } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';
import type { ConfigViolation } from '../../destination/destination.ts';
import { textOf } from '../../object_store/config_rules.ts';
import { quoted } from '../../sql_tables/layout.ts';

const name_characters_max = 255;

/** The keys of a Snowflake destination. */
export const snowflake_config = Type.Object(
  {
    account: Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Account identifier, as myorganization-myaccount; or the locator with its region, as ' +
        'xy12345.eu-central-1.',
    }),
    user: Type.String({
      minLength: 1,
      maxLength: name_characters_max,
      description: 'Login name of the user.',
    }),
    authentication_type: Type.Optional(
      Type.Unsafe<'password' | 'keypair'>({
        type: 'string',
        enum: ['password', 'keypair'],
        default: 'password',
        description:
          'How the user signs in: by password, or by keypair, which is the one for users of ' +
          'the type SERVICE.',
      }),
    ),
    password: Type.Optional(
      nullable(
        Type.String({
          maxLength: 1000,
          default: null,
          description: 'Password of the user, with authentication_type password.',
        }),
      ),
    ),
    private_key: Type.Optional(
      nullable(
        Type.String({
          maxLength: 20_000,
          default: null,
          description: 'RSA private key of the user in PEM, with authentication_type keypair.',
        }),
      ),
    ),
    private_key_passphrase: Type.Optional(
      nullable(
        Type.String({
          maxLength: 1000,
          default: null,
          description: 'Passphrase of the private key, when it is encrypted.',
        }),
      ),
    ),
    database: Type.String({
      minLength: 1,
      maxLength: name_characters_max,
      description: 'Database that holds the table; it must exist. Letter case counts.',
    }),
    warehouse: Type.String({
      minLength: 1,
      maxLength: name_characters_max,
      description: 'Warehouse that does the work; it must exist. Letter case counts.',
    }),
    schema: Type.String({
      minLength: 1,
      maxLength: name_characters_max,
      description: 'Schema that holds the table; it must exist. Letter case counts.',
    }),
    table_name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: name_characters_max,
        default: 'events',
        description:
          'Table to write to; created when it is not there, never altered. Letter case counts.',
      }),
    ),
    role: Type.Optional(
      nullable(
        Type.String({
          maxLength: name_characters_max,
          default: null,
          description:
            "Role to work as; letter case counts. Null or empty: the user's default role.",
        }),
      ),
    ),
    host: Type.Optional(
      nullable(
        Type.String({
          maxLength: 300,
          default: null,
          description:
            'Host of the account, and its port when that is not 443, for accounts that are ' +
            'not at <account>.snowflakecomputing.com. Null or empty: that host.',
        }),
      ),
    ),
  },
  { additionalProperties: false },
);

/** The values of the keys, as far as a user has set them. */
export type SnowflakeConfig = Static<typeof snowflake_config>;

/** What signs in: one of the two. The key is PKCS #8 in PEM, not encrypted. */
type SnowflakeCredentials = { password: string } | { private_key: string };

/**
 * The quoted names of the table and of the receipts, the table's plain name, and how users are told
 * of it. Names are of the database and schema of the session.
 */
export function targetOf(config: SnowflakeConfig): {
  table: string;
  quoted: string;
  receipts: string;
  name: string;
} {
  const table = config.table_name ?? 'events';
  return {
    table,
    quoted: quoted(table),
    receipts: quoted(receipts_table),
    name: `${config.database}.${config.schema}.${table}`,
  };
}

/** The table of receipts, beside the target. */
export const receipts_table = 'sluice_receipts';

/**
 * Where the account is. An underscore of the account's name is a hyphen there, because host names
 * have none.
 */
export function addressOf(config: SnowflakeConfig): { host: string; port: number } {
  const [host = '', port] = (
    textOf(config.host) ?? `${config.account.replaceAll('_', '-')}.snowflakecomputing.com`
  ).split(':');
  return { host: host.toLowerCase(), port: port === undefined ? 443 : Number(port) };
}

/** The credentials of a config that has no violations; throws when it has some. */
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
 * The key in PKCS #8, or undefined when it is no whole RSA key or the passphrase does not open it.
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

/** Violations of rules that the schema cannot say. */
export function snowflakeViolations(config: SnowflakeConfig): ConfigViolation[] {
  const found = credentialViolations(config);
  if (!/^[0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?$/.test(config.account)) {
    found.push({
      attr: 'account',
      code: 'invalid_input',
      detail:
        'The account is an identifier as myorganization-myaccount, without a protocol, a path ' +
        'or .snowflakecomputing.com.',
    });
  } else if (config.account.toLowerCase().includes('snowflakecomputing')) {
    found.push({
      attr: 'account',
      code: 'invalid_input',
      detail: 'Leave .snowflakecomputing.com out of the account.',
    });
  }
  const host = textOf(config.host);
  if (host !== undefined && !isHostAndPort(host))
    found.push({
      attr: 'host',
      code: 'invalid_input',
      detail:
        'The host must be a host name, with a port or without, and without a protocol or a path.',
    });
  if (config.table_name?.toLowerCase().startsWith('sluice_') === true)
    found.push({
      attr: 'table_name',
      code: 'invalid_input',
      detail: "Names that begin with sluice_ are the export's own; choose another name.",
    });
  for (const attr of [
    'user',
    'password',
    'database',
    'warehouse',
    'schema',
    'table_name',
    'role',
  ] as const)
    if (config[attr]?.includes('\0') === true)
      found.push({ attr, code: 'invalid_input', detail: 'It must not hold NUL.' });
  return found;
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
      {
        attr: 'password',
        code: 'required',
        detail: 'With authentication_type password a password is needed.',
      },
    ];
  }
  if (textOf(config.private_key) === undefined)
    return [
      {
        attr: 'private_key',
        code: 'required',
        detail: 'With authentication_type keypair a private key is needed.',
      },
    ];
  if (readPrivateKey(config) !== undefined) return [];
  return [
    {
      attr: 'private_key',
      code: 'invalid_input',
      detail: 'The private key is not a whole RSA key in PEM, or the passphrase does not open it.',
    },
  ];
}
