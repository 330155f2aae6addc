import type { ConfigViolation } from './destination.ts';

/** A violation of a destination's own rules: the config key, and what is wrong with its value. */
export function violation(
  attr: string,
  detail: string,
  code: ConfigViolation['code'] = 'invalid_input',
): ConfigViolation {
  return { attr, code, detail };
}
