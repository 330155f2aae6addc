const nonce = document.querySelector<HTMLElement>('meta[property=csp-nonce]')?.nonce ?? '';

/** The nonce of this page, without which the browser leaves its style elements out. */
export function styleNonce(): string {
  return nonce;
}
