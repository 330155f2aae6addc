const nonce = document.querySelector<HTMLElement>('meta[property=csp-nonce]')?.nonce ?? '';

/** The nonce of this page, without which the browser leaves its style elements out. */
export function styleNonce(): string {
  return nonce;
}

// The library that locks scrolling under dialogs reads it by this name.
Object.assign(globalThis, { __webpack_nonce__: nonce });
