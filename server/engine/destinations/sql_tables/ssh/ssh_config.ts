import { Type } from 'typebox';
import { nullable } from '../../../../platform/nullable.ts';
import type { ConfigViolation } from '../../../model/destination/destination.ts';
import { described } from '../../../model/destination/config_keys.ts';
import { violation } from '../../../model/destination/violation.ts';
import { hostViolations, nulViolations } from '../config_rules.ts';
import { keyViolations } from './private_key.ts';

/** A text that is hidden in configs without a tunnel. */
const text = (maxLength: number, description?: string) =>
  Type.Optional(nullable(Type.String({ maxLength, ...described(description) })));

/** The keys of a tunnel to a database; without `ssh_host` there is none. */
export const ssh_keys = {
  ssh_host: text(
    253,
    'Set it to connect through an SSH tunnel. The SSH server then connects to the database. If ' +
      'null or empty, Sluice connects directly.',
  ),
  ssh_port: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65_535,
      description: 'If unset, Sluice uses port 22.',
    }),
  ),
  ssh_user: text(200),
  ssh_password: text(1000, 'Give a password, a private key, or both.'),
  ssh_private_key: text(20_000, 'A key in OpenSSH or PEM format.'),
  ssh_private_key_passphrase: text(1000, 'Needed if the private key is encrypted.'),
  ssh_host_key: text(
    100,
    'The fingerprint of the SSH server, such as SHA256:... Sluice refuses any other key. Leave ' +
      'it out and test the connection to see the fingerprint. Compare it with the one that the ' +
      'administrator knows.',
  ),
};

/** The secret ones. */
export const ssh_secrets = [
  'ssh_private_key',
  'ssh_private_key_passphrase',
  'ssh_password',
] as const;

/** The keys that determine where secrets go, or as which user. */
const ssh_where = ['ssh_host', 'ssh_port', 'ssh_user', 'ssh_host_key'] as const;

/**
 * Keys of a database behind TLS or a tunnel that determine where its password goes, or as which
 * user.
 */
export const database_where = [
  'host',
  'port',
  'user',
  'has_self_signed_cert',
  'require_tls',
  ...ssh_where,
] as const;

/** Secrets of such a database. */
export const database_secrets = ['password', ...ssh_secrets] as const;

/** Keys that exports to such a database may share as a connection. */
export const database_connection = ['database', ...database_where, ...database_secrets] as const;

/** The keys that only change the route: another `ssh_host` may mean another database. */
export const ssh_ways = ['ssh_port', 'ssh_user', 'ssh_host_key'] as const;

/** Forms hide them while there is no tunnel. */
export const only_with_ssh = {
  keys: [
    'ssh_port',
    'ssh_user',
    'ssh_password',
    'ssh_private_key',
    'ssh_private_key_passphrase',
    'ssh_host_key',
  ] as const,
  key: 'ssh_host' as const,
  values: [],
};

/** The values of the keys that a user has set. */
export type SshConfig = { ssh_port?: number } & {
  [Key in Exclude<keyof typeof ssh_keys, 'ssh_port'>]?: string | null;
};

/** The access to the SSH server, and its identity. */
export type SshAccess = {
  host: string;
  port: number;
  user: string;
  private_key: string | undefined;
  passphrase: string | undefined;
  password: string | undefined;
  host_key: string | undefined;
};

/** Returns the access of a config, or undefined without a tunnel. */
export function sshAccessOf(config: SshConfig): SshAccess | undefined {
  const host = textOf(config.ssh_host);
  if (host === undefined) return undefined;
  return {
    host,
    port: config.ssh_port ?? 22,
    user: textOf(config.ssh_user) ?? '',
    private_key: textOf(config.ssh_private_key),
    passphrase: textOf(config.ssh_private_key_passphrase),
    password: textOf(config.ssh_password),
    host_key: textOf(config.ssh_host_key)?.replace(/=+$/, ''),
  };
}

function textOf(value: string | null | undefined): string | undefined {
  return value === null || value === '' ? undefined : value;
}

/** Checks rules that the schema cannot express; without a tunnel there are none. */
export function sshViolations(config: SshConfig): ConfigViolation[] {
  const access = sshAccessOf(config);
  if (access === undefined) return [];
  return [
    ...hostViolations(access.host, 'ssh_host', 'ssh_port'),
    ...nulViolations(config, ['ssh_user', 'ssh_password', 'ssh_private_key_passphrase']),
    ...(access.user === ''
      ? [violation('ssh_user', 'A tunnel needs the user on the SSH server.', 'required')]
      : []),
    ...(access.password === undefined && access.private_key === undefined
      ? [violation('ssh_private_key', 'A tunnel needs a private key or a password.', 'required')]
      : []),
    ...(access.private_key === undefined
      ? []
      : keyViolations(access.private_key, access.passphrase)),
    ...fingerprintViolations(access.host_key),
  ];
}

function fingerprintViolations(host_key: string | undefined): ConfigViolation[] {
  if (host_key === undefined || /^SHA256:[A-Za-z0-9+/]{43}$/.test(host_key)) return [];
  return [
    violation(
      'ssh_host_key',
      'It must be a fingerprint as `ssh-keygen -lf` prints it: SHA256: and 43 characters.',
    ),
  ];
}
