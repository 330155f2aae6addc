/** Advice by the name of the error with which the browser showed no passkey. */
const words: Record<string, string> = {
  NotAllowedError:
    'The browser showed no passkey: it was cancelled, took too long, or there is none for this ' +
    'server. Try again.',
  InvalidStateError: 'This device or password manager has a passkey of your account already.',
  ConstraintError:
    'This authenticator cannot make sure that it is you. Set up a PIN or a fingerprint on it, or ' +
    'use another one.',
  NotSupportedError: 'This authenticator has no passkeys that Sluice takes: use another one.',
};

/** The sentence for a browser that showed or created no passkey at a page of this host. */
export function refusalWords(name: string, host: string): string {
  if (name === 'SecurityError')
    return `The browser takes no passkeys under ${host}: open Sluice at its own address.`;
  return words[name] ?? 'The browser could not show a passkey: try again, or use another browser.';
}

/** True if the host is an IP address, under which browsers have no passkeys. */
export function isAddress(host: string): boolean {
  return /^\d+(?:\.\d+){3}$/.test(host) || host.startsWith('[');
}
