import { STATUS_CODES } from 'node:http';
import type { ErrorCode, ErrorType } from './error_codes.ts';
import type { Refusal } from './security_log/words.ts';

/**
 * One thing that is wrong with a request; `attr` names the field (nested names joined with `__`),
 * null for the request as a whole. `file`, `line` and `column` (from 1) say where in a text it is,
 * when what was sent or fetched is code.
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
 * The answer to a request that was not served. Guarantee: `violations` has at least one entry and
 * everything in it may be shown to the caller.
 */
export class ApiError extends Error {
  readonly status: number;
  readonly type: ErrorType;
  readonly violations: Violation[];
  readonly headers: Record<string, string>;
  /** The event in the security log; undefined: none, but for a 403. */
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
 * The error, to be noted in the security log as this event with this reason; `organization_id` is
 * whom it concerns where neither path nor caller say so.
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

/** The body of every error: `code`, `detail` and `attr` repeat the first of `errors`. */
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

/** 404, always with the same words, so that a stranger's record looks like an unknown one. */
export function notFound(): ApiError {
  return request(404, 'not_found', 'Not found.');
}

/** Throws the 404 that everything unknown answers, where a value is asked for. */
export function missing(): never {
  throw notFound();
}

/** 400 for one field (or the request as a whole when `attr` is null). */
export function invalid(attr: string | null, code: ErrorCode, detail: string): ApiError {
  return invalidMany([{ attr, code, detail }]);
}

/** Most violations that an answer lists: nobody reads on, and a body can have ten thousand. */
const violations_max = 1_000;

/** 400 that lists every violation, the first 1,000 of more; there must be one at least. */
export function invalidMany(violations: Violation[]): ApiError {
  return new ApiError(400, 'validation_error', violations.slice(0, violations_max));
}

/** 400 for a body that is not JSON. */
export function unparsable(detail: string): ApiError {
  return request(400, 'parse_error', detail);
}

/** 400 for a body that stops being JSON there. */
export function notJson({ line, column }: { line: number; column: number }): ApiError {
  return unparsable(`The body is not valid JSON: line ${line}, column ${column}.`);
}

/** 401; tells the client which kind of credentials is wanted. */
export function unauthenticated(
  code: 'not_authenticated' | 'authentication_failed' | 'second_factor_required',
  detail: string,
): ApiError {
  return new ApiError(401, 'authentication_error', [{ attr: null, code, detail }], {
    'www-authenticate': 'Bearer',
  });
}

/** 400: a request shows a key and a session's cookie; who asks must be said once. */
export function twoCredentials(): ApiError {
  return request(
    400,
    'invalid_input',
    'Show one credential only: a personal API key, a session cookie, or address and password.',
  );
}

/** 403: the organization lets in only members with a second factor. */
export function secondFactorRequired(): ApiError {
  const detail =
    'This organization asks its members for a second factor: set one up for your account, or ' +
    'confirm with yours that it is you (POST /api/sessions/@current/confirm/), then try again.';
  return new ApiError(403, 'authentication_error', [
    { attr: null, code: 'second_factor_required', detail },
  ]);
}

/** 403: the session was not opened, or not lately, with what is the person's own. */
export function ownFactorRequired(
  detail = 'Confirm that it is you, with your password and second factor or with a passkey ' +
    '(POST /api/sessions/@current/confirm/), then try again: this session alone does not ' +
    'reach this.',
): ApiError {
  return new ApiError(403, 'authentication_error', [
    { attr: null, code: 'own_factor_required', detail },
  ]);
}

/** 403: the organization lets in only whom one of its providers signed in. */
export function ssoRequired(): ApiError {
  const detail =
    'This organization asks for single sign-on: sign in through its provider. An owner can ' +
    'exempt members who have no account there.';
  return new ApiError(403, 'authentication_error', [{ attr: null, code: 'sso_enforced', detail }]);
}

/**
 * 403: the caller may know that the thing exists, but not do this with it. `reason` is what the
 * security log says of it.
 */
export function forbidden(detail: string, reason = 'rule'): ApiError {
  const error = forbiddenMany([{ attr: null, code: 'permission_denied', detail }]);
  return notedAs(error, 'right_refused', reason);
}

/** 403 for a key that comes from an address that it is not taken from. */
export function wrongAddress(ip: string): ApiError {
  return forbidden(
    `This API key does not work from the address ${ip}. Use an allowed address, or ask the ` +
      'owner of the key to add this one (`allowed_ip_ranges`).',
    'ip_range',
  );
}

/**
 * 403 that lists every field that asks for more than the caller may; there must be one at least.
 */
export function forbiddenMany(violations: Violation[]): ApiError {
  return new ApiError(403, 'authentication_error', violations);
}

/** 405 with the methods that the path does have. */
export function methodNotAllowed(method: string, allowed: string[]): ApiError {
  return request(
    405,
    'method_not_allowed',
    `This path has no ${method}; it has ${allowed.join(', ')}.`,
    { allow: allowed.join(', ') },
  );
}

/** 406: no representation that the `Accept` header takes. */
export function notAcceptable(): ApiError {
  return request(
    406,
    'not_acceptable',
    'The answer is application/json, which the Accept header does not take.',
  );
}

/** 409: the present state does not allow it, another request may change that. */
export function conflict(detail: string, headers?: Record<string, string>): ApiError {
  return request(409, 'conflict', detail, headers);
}

/** 412: the record changed since the caller read the `ETag` in `If-Match`. */
export function preconditionFailed(): ApiError {
  return request(
    412,
    'precondition_failed',
    'The record has changed since it was read: fetch it again and repeat the change with its ' +
      'new ETag.',
  );
}

/** 413 with the limit in bytes. */
export function tooLarge(size_bytes_max: number): ApiError {
  return request(
    413,
    'request_too_large',
    `The body is too large: the limit is ${size_bytes_max} bytes.`,
  );
}

/** 431 with the limit in bytes. */
export function headersTooLarge(size_bytes_max: number): ApiError {
  return request(
    431,
    'request_too_large',
    `The headers are too large: the limit is ${size_bytes_max} bytes. In a browser, delete ` +
      'cookies of this site.',
  );
}

/** 415 for a body of another kind than JSON. */
export function unsupportedMediaType(detail: string): ApiError {
  return request(415, 'unsupported_media_type', detail);
}

/** 422: the idempotency key was used for another request. */
export function idempotencyMismatch(): ApiError {
  return request(
    422,
    'idempotency_mismatch',
    'This Idempotency-Key was used for another request: take a new key.',
  );
}

/** 429 with the whole seconds to wait; `refused` says of which fields there was too much. */
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

/** 500 that shows nothing of the inside. */
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
 * 503: a store that the server needs does not answer, or what `detail` says; the same request may
 * work after that time.
 */
export function unavailable(
  detail = 'A store of the server does not answer at the moment: try again in some seconds.',
  wait_seconds = 5,
): ApiError {
  return new ApiError(503, 'server_error', [{ attr: null, code: 'unavailable', detail }], {
    'retry-after': String(wait_seconds),
  });
}

/** 503: more passwords wait to be checked than the server can check in time. */
export function busy(): ApiError {
  return unavailable(
    'The server is checking as many passwords as it can at the moment: try again in some seconds.',
  );
}
