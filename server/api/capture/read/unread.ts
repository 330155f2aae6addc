import { refused_content_bytes_max } from '../../../engine/ingest/warnings/refused_events.ts';
import { write_key_characters } from '../../../platform/http/caller/write_key.ts';
import { ApiError } from '../../../platform/http/errors.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import type { ErrorType } from '../../../platform/http/error_codes.ts';

const inside = new RegExp(`(?<![0-9A-Za-z_])slp_${write_key_characters}(?![0-9A-Za-z])`);

/** Of a body that could not be read the write key that stands in it, and it itself. */
export type UnreadBody = { key?: string | undefined; bytes?: Uint8Array | undefined };

/** 400 for a body that could not be read. */
export class UnreadError extends ApiError {
  readonly body: UnreadBody;
  constructor(type: ErrorType, violations: Violation[], body: UnreadBody) {
    super(400, type, violations);
    this.body = body;
  }
}

/**
 * What is known of a body that could not be read: the first write key in it, told by its form, so
 * that its project learns of it; and its bytes, where they are not too many to be kept.
 */
export function unreadBody(bytes: Buffer): UnreadBody {
  const is_kept = bytes.length <= refused_content_bytes_max;
  return {
    key: inside.exec(bytes.toString('latin1'))?.[0],
    bytes: is_kept ? bytes : undefined,
  };
}
