const nonce = document.querySelector<HTMLElement>('meta[property=csp-nonce]')?.nonce ?? '';

/** Returns the page's nonce, without which the browser ignores its style elements. */
export function styleNonce(): string {
  return nonce;
}
