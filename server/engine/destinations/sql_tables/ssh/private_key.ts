import { moduleBeside } from '../../../../platform/processes/module_beside.ts';
import { openThread } from '../../../../platform/processes/thread.ts';
import type { ConfigViolation } from '../../../model/destination/destination.ts';
import { faultError, lasting } from '../../../model/destination/faults.ts';
import { violation } from '../../../model/destination/violation.ts';
import { readSealedKey } from './sealed_key.ts';
import { sshPackage } from './ssh_package.ts';

/**
 * Most bcrypt rounds that stretch a passphrase. The key itself contains the number, and a round
 * takes some 40 ms: `ssh-keygen` writes 16 or 24.
 */
const rounds_max = 128;
const thread_memory_mb_max = 64;

/** An encrypted key, and the passphrase to try. */
export type KeyQuestion = { private_key: string; passphrase: string };
/** The same key without encryption; undefined if the passphrase does not open it. */
export type KeyReply = { opened: string | undefined };

const thread = openThread<KeyQuestion, KeyReply>(
  moduleBeside(import.meta, 'private_key_thread'),
  thread_memory_mb_max,
);

/**
 * Checks a key, except for a wrong passphrase of an encrypted OpenSSH key: trying it takes a second
 * of processor time or more, so only `openPrivateKey` does.
 */
export function keyViolations(private_key: string, passphrase?: string): ConfigViolation[] {
  const unopened = sshPackage().utils.parseKey(private_key);
  const isEncrypted = unopened instanceof Error && /no passphrase given/i.test(unopened.message);
  if (isEncrypted && passphrase === undefined)
    return [violation('ssh_private_key_passphrase', 'The private key is encrypted.', 'required')];
  if (isEncrypted && /OpenSSH/.test(unopened.message)) return sealedViolations(private_key);
  const read = isEncrypted ? sshPackage().utils.parseKey(private_key, passphrase) : unopened;
  if (read instanceof Error)
    return /passphrase|integrity check/i.test(read.message)
      ? [violation('ssh_private_key_passphrase', 'The private key does not open with it.')]
      : [violation('ssh_private_key', `${form_of_key} This one cannot be read.`)];
  return [read].flat()[0]?.isPrivateKey() === true
    ? []
    : [violation('ssh_private_key', `${form_of_key} This is a public one.`)];
}

const form_of_key =
  'It must be a private key as ssh-keygen writes it, from its first line (-----BEGIN ...) to its ' +
  'last one.';

function sealedViolations(private_key: string): ConfigViolation[] {
  const sealed = readSealedKey(private_key);
  if (sealed === undefined)
    return [
      violation(
        'ssh_private_key',
        'Sluice opens keys encrypted by AES in the modes CTR or CBC. Encrypt this one so: ' +
          '`ssh-keygen -p -Z aes256-ctr -f FILE`.',
      ),
    ];
  if (sealed.rounds <= rounds_max) return [];
  return [
    violation(
      'ssh_private_key',
      `Its passphrase is stretched by ${sealed.rounds} rounds, at most ${rounds_max} are ` +
        'allowed. ' +
        'Encrypt the key with fewer: `ssh-keygen -p -a 24 -f FILE`.',
    ),
  ];
}

/**
 * Returns the key in a form that the SSH package reads at once: a thread opens an encrypted OpenSSH
 * key. Rejects if the passphrase does not open it, or if the key needs too much work.
 */
export async function openPrivateKey(private_key: string, passphrase?: string): Promise<string> {
  const sealed = readSealedKey(private_key);
  if (sealed === undefined || passphrase === undefined) return private_key;
  if (sealed.rounds > rounds_max) throw faultError(too_much_work, String(sealed.rounds));
  const { opened } = await thread.ask({ private_key, passphrase });
  if (opened === undefined) throw faultError(wrong_passphrase, '');
  return opened;
}

const too_much_work = lasting(
  'ssh_refused',
  `The passphrase of ssh_private_key is stretched by % rounds, at most ${rounds_max} are ` +
    'allowed. ' +
    'Encrypt the key with fewer: `ssh-keygen -p -a 24 -f FILE`.',
);
const wrong_passphrase = lasting(
  'ssh_refused',
  'The passphrase does not open the private key. Check the keys ssh_private_key and ' +
    'ssh_private_key_passphrase.',
);
