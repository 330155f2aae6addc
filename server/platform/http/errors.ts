import { STATUS_CODES } from 'node:http';
import type { ErrorCode, ErrorType } from './error_codes.ts';
import type { Refusal } from './security_log/words.ts';

/**
 * A fault of a request; `attr` names the field (nested names joined with `__`), null for the whole
 * request. `file`, `line` and `column` (from 1) give the place in sent or fetched code.
 */
export type Violation = {
  attr: string | null;
  code: ErrorCode;
  detail: string;
  file?: string;
  line?: number;
  column?: number;
};

/**
 * The answer to a request that was not served. Guarantee: `violations` has at least one entry, and
 * the caller may see everything in it.
 */
export class ApiError extends Error {
  readonly status: number;
  readonly type: ErrorType;
  readonly violations: Violation[];
  readonly headers: Record<string, string>;
  /** The event in the security log; undefined: none, except for a 403. */
  refusal: Refusal | undefined;
  constructor(
    status: number,
    type: ErrorType,
    violations: Violation[],
    headers: Record<string, string> = {},
  ) {
    super(violations[0]?.detail);
    this.name = 'ApiError';
    this.status = status;
    this.type = type;
    this.violations = violations;
    this.headers = headers;
  }
}

/**
 * Returns the error with its entry for the security log; `organization_id` is the affected
 * organization if neither path nor caller name it.
 */
export function notedAs(
  error: ApiError,
  event: Refusal['event'],
  reason: string,
  organization_id?: string,
): ApiError {
  error.refusal = { event, reason, organization_id };
  return error;
}

/** Returns the body of every error: `code`, `detail` and `attr` repeat the first of `errors`. */
export function errorBody(error: ApiError, requestId: string) {
  const first = error.violations[0]!;
  return {
    type: error.type,
    code: first.code,
    detail: first.detail,
    attr: first.attr,
    status: error.status,
    title: STATUS_CODES[error.status] ?? 'Error',
    request_id: requestId,
    errors: error.violations,
  };
}

function request(
  status: number,
  code: ErrorCode,
  detail: string,
  headers?: Record<string, string>,
): ApiError {
  return new ApiError(status, 'invalid_request', [{ attr: null, code, detail }], headers);
}

/** Returns a 404 with a fixed text, so that a stranger's record looks like an unknown one. */
export function notFound(): ApiError {
  return request(404, 'not_found', 'Not found.');
}

/** Throws the 404 of everything unknown, in place of a value. */
export function missing(): never {
  throw notFound();
}

/** Returns a 400 for one field (or the whole request if `attr` is null). */
export function invalid(attr: string | null, code: ErrorCode, detail: string): ApiError {
  return invalidMany([{ attr, code, detail }]);
}

/** Most violations in an answer: a body can have ten thousand, which nobody reads. */
const violations_max = 1_000;

/** Returns a 400 that lists the violations, at most the first 1,000; it needs at least one. */
export function invalidMany(violations: Violation[]): ApiError {
  return new ApiError(400, 'validation_error', violations.slice(0, violations_max));
}

/** Returns a 400 for a body that is not JSON. */
export function unparsable(detail: string): ApiError {
  return request(400, 'parse_error', detail);
}

/** Returns a 400 for a body that stops being JSON at this place. */
export function notJson({ line, column }: { line: number; column: number }): ApiError {
  return unparsable(`The body is not valid JSON: line ${line}, column ${column}.`);
}

/** Returns a 401 that names the required kind of credentials. */
export function unauthenticated(
  code: 'not_authenticated' | 'authentication_failed' | 'second_factor_required',
  detail: string,
): ApiError {
  return new ApiError(401, 'authentication_error', [{ attr: null, code, detail }], {
    'www-authenticate': 'Bearer',
  });
}

/** Returns a 400 for a request with both a key and a session's cookie. */
export function twoCredentials(): ApiError {
  return request(
    400,
    'invalid_input',
    'Send only one credential: a personal API key, a session cookie, or address and password.',
  );
}

/** Returns a 403: the organization requires a second factor. */
export function secondFactorRequired(): ApiError {
  const detail =
    'This organization asks its members for a second factor: set one up for your account, or ' +
    'confirm with yours that it is you (POST /api/sessions/@current/confirm/), then try again.';
  return new ApiError(403, 'authentication_error', [
    { attr: null, code: 'second_factor_required', detail },
  ]);
}

/** Returns a 403: the session lacks the person's own factor, or a recent check of it. */
export function ownFactorRequired(
  detail = 'Confirm that it is you, with your password and second factor or with a passkey ' +
    '(POST /api/sessions/@current/confirm/), then try again: this session alone does not ' +
    'reach this.',
): ApiError {
  return new ApiError(403, 'authentication_error', [
    { attr: null, code: 'own_factor_required', detail },
  ]);
}

/** Returns a 403: the organization requires sign-in through one of its providers. */
export function ssoRequired(): ApiError {
  const detail =
    'This organization asks for single sign-on: sign in through its provider. An owner can ' +
    'exempt members who have no account there.';
  return new ApiError(403, 'authentication_error', [{ attr: null, code: 'sso_enforced', detail }]);
}

/**
 * Returns a 403: the caller may know that the thing exists, but not do this with it. `reason` goes
 * to the security log.
 */
export function forbidden(detail: string, reason = 'rule'): ApiError {
  const error = forbiddenMany([{ attr: null, code: 'permission_denied', detail }]);
  return notedAs(error, 'right_refused', reason);
}

/** Returns a 403 for a key from an address that it does not accept. */
export function wrongAddress(ip: string): ApiError {
  return forbidden(
    `This API key does not work from the address ${ip}. Use an allowed address, or ask the ` +
      'owner of the key to add this one (`allowed_ip_ranges`).',
    'ip_range',
  );
}

/** Returns a 403 that lists every field beyond the caller's rights; it needs at least one. */
export function forbiddenMany(violations: Violation[]): ApiError {
  return new ApiError(403, 'authentication_error', violations);
}

/** Returns a 405 with the methods of the path. */
export function methodNotAllowed(method: string, allowed: string[]): ApiError {
  return request(
    405,
    'method_not_allowed',
    `This path has no ${method}; it has ${allowed.join(', ')}.`,
    { allow: allowed.join(', ') },
  );
}

/** Returns a 406: no representation matches the `Accept` header. */
export function notAcceptable(): ApiError {
  return request(
    406,
    'not_acceptable',
    'The answer is application/json, which the Accept header does not take.',
  );
}

/** Returns a 409: the present state does not allow it, but another request may change that. */
export function conflict(detail: string, headers?: Record<string, string>): ApiError {
  return request(409, 'conflict', detail, headers);
}

/** Returns a 412: the record changed since the caller read the `ETag` in `If-Match`. */
export function preconditionFailed(): ApiError {
  return request(
    412,
    'precondition_failed',
    'The record has changed since it was read: fetch it again and repeat the change with its ' +
      'new ETag.',
  );
}

/** Returns a 413 with the limit in bytes. */
export function tooLarge(size_bytes_max: number): ApiError {
  return request(
    413,
    'request_too_large',
    `The body is too large: the limit is ${size_bytes_max} bytes.`,
  );
}

/** Returns a 431 with the limit in bytes. */
export function headersTooLarge(size_bytes_max: number): ApiError {
  return request(
    431,
    'request_too_large',
    `The headers are too large: the limit is ${size_bytes_max} bytes. In a browser, delete ` +
      'cookies of this site.',
  );
}

/** Returns a 415 for a body that is not JSON. */
export function unsupportedMediaType(detail: string): ApiError {
  return request(415, 'unsupported_media_type', detail);
}

/** Returns a 422: the idempotency key was used for another request. */
export function idempotencyMismatch(): ApiError {
  return request(
    422,
    'idempotency_mismatch',
    'This Idempotency-Key was used for another request: use a new key.',
  );
}

/**
 * Returns a 429 with the whole seconds to wait; `refused` names the fields that exceeded the limit.
 */
export function throttled(
  wait_seconds: number,
  refused?: Pick<Violation, 'attr' | 'detail'>[],
): ApiError {
  const seconds = `${wait_seconds} ${wait_seconds === 1 ? 'second' : 'seconds'}`;
  const whole = { attr: null, detail: `Too many requests: try again in ${seconds}.` };
  const violations = (refused ?? [whole]).map((one) => ({ ...one, code: 'throttled' as const }));
  return new ApiError(429, 'throttled_error', violations, {
    'retry-after': String(wait_seconds),
  });
}

/** Returns a 500 without internal details. */
export function serverError(): ApiError {
  return new ApiError(500, 'server_error', [
    {
      attr: null,
      code: 'error',
      detail:
        'The server failed to serve this request. The operator finds the cause in the log ' +
        'under the request id.',
    },
  ]);
}

/**
 * Returns a 503: a needed store does not answer, or the reason in `detail`; the same request may
 * succeed after this time.
 */
export function unavailable(
  detail = 'A store of the server does not answer at the moment: try again in some seconds.',
  wait_seconds = 5,
): ApiError {
  return new ApiError(503, 'server_error', [{ attr: null, code: 'unavailable', detail }], {
    'retry-after': String(wait_seconds),
  });
}

/** Returns a 503: too many passwords are waiting to be checked. */
export function busy(): ApiError {
  return unavailable(
    'The server is checking as many passwords as it can at the moment: try again in some seconds.',
  );
}
