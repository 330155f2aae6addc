import ssh2 from 'ssh2';

const { utils } = ssh2;

/** The choices of a key; a cipher needs a passphrase. */
export type SshKeyOptions = {
  type?: 'ed25519' | 'rsa' | 'ecdsa';
  bits?: number;
  passphrase?: string;
  cipher?: string;
  rounds?: number;
};

/**
 * Makes a pair of SSH keys that OpenSSH reads. Of the pairs of type ed25519 that ssh2 makes, one in
 * 230 is not readable, neither by `ssh-keygen` nor by ssh2.
 */
export function newSshKey({ type = 'ed25519', ...options }: SshKeyOptions = {}): {
  private: string;
  public: string;
} {
  for (;;) {
    // The types want other options for each type.
    const pair = utils.generateKeyPairSync(type as 'rsa', options as { bits: number });
    if (!(utils.parseKey(pair.private, options.passphrase) instanceof Error)) return pair;
  }
}
