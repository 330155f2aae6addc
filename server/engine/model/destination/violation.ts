import type { ConfigViolation } from './destination.ts';

/** Returns a violation of a destination's own rules: the config key and the fault of its value. */
export function violation(
  attr: string,
  detail: string,
  code: ConfigViolation['code'] = 'invalid_input',
): ConfigViolation {
  return { attr, code, detail };
}
