import { codeOf, faultError, lasting, passing } from '../../../model/destination/faults.ts';
import type { Fault } from '../../../model/destination/faults.ts';

const unreachable = passing(
  'ssh_failed',
  'The SSH server does not answer. Check the keys ssh_host and ssh_port, and that its firewall ' +
    'lets this server in.',
);
const cut = passing('ssh_failed', 'The connection to the SSH server broke.');
const silent = passing(
  'ssh_failed',
  'The SSH server did not finish the handshake in time. Check that what answers at ssh_host and ' +
    'ssh_port is an SSH server, and that it is well.',
);
const unspoken = passing(
  'ssh_failed',
  'What answers at ssh_host and ssh_port closed the connection before the handshake of SSH. ' +
    'Check both; an SSH server with too many connections does so too (MaxStartups).',
);
const not_ssh = lasting(
  'ssh_refused',
  'The server at ssh_host and ssh_port does not speak SSH (%); check both.',
);
const no_common = lasting(
  'ssh_refused',
  'The SSH server and this one have no algorithm in common (%). Update the SSH server.',
);
const unauthorized = lasting(
  'ssh_refused',
  'The SSH server refused the user. Check the keys ssh_user and ssh_private_key or ' +
    'ssh_password, and that authorized_keys there has the public key.',
);
const forbidden = lasting(
  'ssh_refused',
  'The SSH server does not let this user open a connection to the database. Allow it there ' +
    '(AllowTcpForwarding, PermitOpen).',
);
const database_away = passing(
  'connection_failed',
  'The SSH server does not reach the database (%). Check the keys host and port, as the SSH ' +
    'server sees them.',
);
const database_unknown = lasting(
  'host_not_found',
  'The SSH server finds no host of this name (%); check the key host, as the SSH server sees it.',
);
const host_unknown = lasting(
  'host_not_found',
  'The SSH host does not exist. Check the key ssh_host.',
);
const lookup_failed = passing('ssh_failed', 'The name of the SSH host could not be looked up.');

const by_code: Record<string, Fault> = {
  ENOTFOUND: host_unknown,
  EAI_AGAIN: lookup_failed,
  ECONNRESET: cut,
  EPIPE: cut,
};

/** By the library's own level of the fault. */
const by_level: Record<string, (message: string) => Fault> = {
  'client-authentication': () => unauthorized,
  'client-timeout': (message) => (message.startsWith('Keepalive') ? cut : silent),
  handshake: (message) => (/no matching/i.test(message) ? no_common : not_ssh),
  protocol: (message) => (message.includes('before handshake') ? unspoken : not_ssh),
};

/** Returns the error of a fault of the SSH connection, from the library or the system. */
export function sshError(error: Error & { level?: string }): Error {
  const { level = '', message } = error;
  const fault = by_level[level]?.(message) ?? by_code[codeOf(error) ?? ''] ?? unreachable;
  return faultError(fault, message, error);
}

/** Returns the error of a connection to the database that the SSH server did not open. */
export function forwardError(error: Error & { reason?: unknown }): Error {
  const isForbidden = error.reason === 1 || /prohibited/i.test(error.message);
  const said = error.message.replace(/^\(SSH\) Channel open failure: */, '');
  const fault = isForbidden
    ? forbidden
    : said.includes('not known')
      ? database_unknown
      : database_away;
  return faultError(fault, said === '' ? 'it says no more' : said, error);
}

/** Returns the error of a tunnel that broke while connections used it. */
export function cutError(cause?: Error): Error {
  return faultError(cut, '', cause);
}

/**
 * Returns the error of a server with an unexpected key. It contains the key, so that a person can
 * compare and enter it: a first key is never trusted automatically.
 */
export function hostKeyError(fingerprint: string, expected: string | undefined): Error {
  const message =
    expected === undefined
      ? 'The SSH server shows the host key %. Ask its administrator whether this is right, then ' +
        'set ssh_host_key to it.'
      : 'The SSH server shows the host key %, which is not the one of ssh_host_key. Either it ' +
        'has a new key, or somebody intercepts the connection. Ask its administrator before you ' +
        'set it.';
  return faultError(lasting('ssh_refused', message), fingerprint);
}
