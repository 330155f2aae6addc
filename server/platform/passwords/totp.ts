import { Secret, TOTP } from 'otpauth';

const form = /^[0-9]{6}$/;
const step_seconds = 30;
/** Clocks of telephones differ, so the previous and the next step are accepted too. */
const window_steps = 1;

/** Returns a new seed: 160 random bits in base 32, as authenticator apps accept it. */
export function createTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/** Returns the URL for an app's QR code (RFC 6238: SHA-1, 6 digits, 30 seconds). */
export function totpUrl(secret: string, label: string): string {
  return totpOf(secret, label).toString();
}

/**
 * Returns the time step of the code if it is one of the seed's codes for now, the previous step or
 * the next one; undefined for any other text.
 */
export function stepOfCode(secret: string, code: string, now_ms: number): number | undefined {
  if (!form.test(code)) return undefined;
  const delta = totpOf(secret, '').validate({
    token: code,
    timestamp: now_ms,
    window: window_steps,
  });
  return delta === null ? undefined : Math.floor(now_ms / 1000 / step_seconds) + delta;
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({
    issuer: 'Sluice',
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: step_seconds,
    secret: Secret.fromBase32(secret),
  });
}
