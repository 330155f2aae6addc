import type { Violation, errorBody } from '../../server/platform/http/errors.ts';

/** One code of the API's closed list. */
export type ErrorCode = Violation['code'];

/** Why there is no answer: the API's reason, or one in the same form. */
export class Problem extends Error {
  /** 0 if the server was not reached. */
  readonly status: number;
  readonly code: ErrorCode;
  readonly violations: Violation[];
  readonly request_id: string | undefined;

  constructor(status: number, violations: Violation[], request_id?: string) {
    super(violations[0]?.detail);
    this.name = 'Problem';
    this.status = status;
    this.code = violations[0]?.code ?? 'error';
    this.violations = violations;
    this.request_id = request_id;
  }
}

/** Returns true if the person is no longer signed in. */
export function isSignedOut({ status, code }: Problem): boolean {
  return status === 401 && (code === 'authentication_failed' || code === 'not_authenticated');
}

/** Returns true if the server was not reached, or could not answer anything. */
export function isOutage({ status }: Problem): boolean {
  return status === 0 || (status >= 502 && status <= 504);
}

/**
 * Returns the problem in an answer's body. It uses the console's own words for foreign answers, and
 * for API texts that are for programs (ETags) or only say that a record is missing.
 */
export function problemOf(status: number, body: unknown): Problem {
  const { errors, request_id } = (body ?? {}) as Partial<ReturnType<typeof errorBody>>;
  if (status === 412) return new Problem(412, [changed_meanwhile], request_id);
  const for_people = status === 403 && errors?.length === 1 && in_words[errors[0]!.code];
  if (for_people) return new Problem(403, [{ ...errors[0]!, detail: for_people }], request_id);
  if (errors?.length === 1 && errors[0]!.detail === 'Not found.')
    return new Problem(status, [gone_meanwhile], request_id);
  return Array.isArray(errors) && errors.length > 0
    ? new Problem(status, errors, request_id)
    : ownProblem(status, unexplained(status));
}

/** Explains the status of an answer that does not come from the API. */
function unexplained(status: number): string {
  return status < 500 && status !== 429
    ? 'Something in front of the server, such as a proxy, refused this with the status ' +
        `${status}. Ask its administrator why.`
    : `The server answered with the status ${status}. Try again in a minute.`;
}

/** Returns the problem of a server that was not reached. */
export function unreached(): Problem {
  return ownProblem(0, 'The server cannot be reached. Check your connection, then try again.');
}

/**
 * Returns the problem of a foreign answer, such as a network's sign-in page, or of a cut-off one:
 * the request may or may not have been executed.
 */
export function unheard(): Problem {
  return ownProblem(
    0,
    'The answer did not come from the server, or it is incomplete. Check your connection (the ' +
      'network may require a sign-in), then try again.',
  );
}

/** Returns the problem of a server that lacks a part of the open console. */
export function partMissing(): Problem {
  return ownProblem(0, 'The server did not send the code of this page. Try again in a minute.');
}

const changed_meanwhile: Violation = {
  attr: null,
  code: 'precondition_failed',
  detail:
    'Somebody changed this since you opened it, so your changes were not saved. Check the ' +
    'current values, then make your change again.',
};

/** Replaces sentences of the API with the path of a route, which is a button here. */
const in_words: Partial<Record<ErrorCode, string>> = {
  own_factor_required: 'This needs a confirmation that it is you.',
  second_factor_required:
    'This organization requires a second factor. Set one up in your account, or confirm with ' +
    'yours.',
};

const gone_meanwhile: Violation = {
  attr: null,
  code: 'not_found',
  detail:
    'This no longer exists, so nothing was done. Somebody deleted it, or you may no longer see ' +
    'it.',
};

function ownProblem(status: number, detail: string): Problem {
  return new Problem(status, [{ attr: null, code: 'error', detail }]);
}
