import ssh2 from 'ssh2';

const { utils } = ssh2;

/** The choices for a key; a cipher needs a passphrase. */
export type SshKeyOptions = {
  type?: 'ed25519' | 'rsa' | 'ecdsa';
  bits?: number;
  passphrase?: string;
  cipher?: string;
  rounds?: number;
};

/**
 * Creates a pair of SSH keys that OpenSSH reads. One in 230 ed25519 pairs of ssh2 is unreadable,
 * both for `ssh-keygen` and for ssh2.
 */
export function newSshKey({ type = 'ed25519', ...options }: SshKeyOptions = {}): {
  private: string;
  public: string;
} {
  for (;;) {
    // The types require different options for each type.
    const pair = utils.generateKeyPairSync(type as 'rsa', options as { bits: number });
    if (!(utils.parseKey(pair.private, options.passphrase) instanceof Error)) return pair;
  }
}
