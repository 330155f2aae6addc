import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './kafka.ts';

const run = promisify(execFile);
const program = '/usr/sbin/sshd';

/** Returns the reason why this machine has no OpenSSH server; undefined if it has one. */
export function whyNoSshd(): string | undefined {
  return existsSync(program)
    ? undefined
    : 'sshd is not installed (apt-get install openssh-server).';
}

/** An OpenSSH server on 127.0.0.1 that lets the user of this process in by a key. */
export type Sshd = {
  port: number;
  user: string;
  private_key: string;
  /** The folder for received files. */
  inbox: string;
  close(): Promise<void>;
};

/** Starts one with its own configuration, keys and folder. */
export async function startSshd(): Promise<Sshd> {
  // Not in /tmp, because sshd refuses keys below a folder that everyone may write to.
  const folder = mkdtempSync('/var/tmp/sluice-sshd-');
  chmodSync(folder, 0o755);
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true });
  const at = (name: string) => join(folder, name);
  for (const name of ['host', 'user'])
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(name)]);
  writeFileSync(at('authorized'), readFileSync(at('user.pub')));
  mkdirSync(at('inbox'));
  const port = await freePort();
  writeFileSync(
    at('sshd_config'),
    `ListenAddress 127.0.0.1:${port}\nHostKey ${at('host')}\nPidFile none\nUsePAM no\n` +
      `StrictModes no\nAuthorizedKeysFile ${at('authorized')}\nPermitRootLogin yes\n` +
      'PasswordAuthentication no\nSubsystem sftp internal-sftp\n',
  );
  const server = spawn(program, ['-D', '-f', at('sshd_config')], { stdio: 'ignore' });
  return {
    port,
    user: userInfo().username,
    private_key: readFileSync(at('user'), 'utf8'),
    inbox: at('inbox'),
    close: async () => {
      server.kill();
      await once(server, 'exit');
      rmSync(folder, { recursive: true });
    },
  };
}
