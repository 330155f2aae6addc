/** Advice by the name of the browser's error. */
const words: Record<string, string> = {
  NotAllowedError:
    'The browser showed no passkey. It was cancelled, took too long, or has no passkey for ' +
    'this server. Try again.',
  InvalidStateError: 'This device or password manager already has a passkey of your account.',
  ConstraintError:
    'This authenticator cannot check who you are. Set up a PIN or a fingerprint on it, or use ' +
    'another one.',
  NotSupportedError: 'Sluice does not support the passkeys of this authenticator. Use another one.',
};

/** Returns the sentence for a browser that showed or created no passkey at this host. */
export function refusalWords(name: string, host: string): string {
  if (name === 'SecurityError')
    return `The browser supports no passkeys under ${host}. Open Sluice at its own address.`;
  return words[name] ?? 'The browser could not show a passkey. Try again, or use another browser.';
}

/** Returns true if the host is an IP address, for which browsers support no passkeys. */
export function isAddress(host: string): boolean {
  return /^\d+(?:\.\d+){3}$/.test(host) || host.startsWith('[');
}
