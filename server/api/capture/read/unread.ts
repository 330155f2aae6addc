import { write_key_characters } from '../../../platform/http/caller/write_key.ts';
import { ApiError } from '../../../platform/http/errors.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import type { ErrorType } from '../../../platform/http/error_codes.ts';

const inside = new RegExp(`(?<![0-9A-Za-z_])slp_${write_key_characters}(?![0-9A-Za-z])`);

/** 400 for a body that could not be read, with the write key that stands in its bytes. */
export class UnreadError extends ApiError {
  readonly key: string | undefined;
  constructor(type: ErrorType, violations: Violation[], key: string | undefined) {
    super(400, type, violations);
    this.key = key;
  }
}

/**
 * The first write key in the bytes, told by its form: whose a body is that is no JSON, so that its
 * project learns of it.
 */
export function keyInside(bytes: Buffer): string | undefined {
  return inside.exec(bytes.toString('latin1'))?.[0];
}
