import { causesOf, codeOf, explain, lasting, passing } from '../../model/destination/faults.ts';
import type { Fault } from '../../model/destination/faults.ts';
import { explainFault, throttled } from '../object_store/faults.ts';
import { secret_keys, stage_prefix } from './config.ts';
import type { BigQueryConfig } from './config.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';

/** Thrown for a failed job, with Google's reason and message. */
export class JobError extends Error {
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.name = 'JobError';
    this.reason = reason;
  }
}

const credentials = lasting(
  'authentication_failed',
  'Google refused the service account; check that private_key and client_email come from the ' +
    'same key file, that the key was not deleted or disabled, and that the clock of this server ' +
    'is right.',
);
const denied = lasting(
  'permission_denied',
  'The service account lacks the permission for this (%). Give it the roles BigQuery Data Editor ' +
    'on the dataset and BigQuery Job User on the project.',
);
const server_fault = passing('server_fault', 'BigQuery reported an internal fault (%).');
const busy = passing(
  'throttled',
  'A quota of the project is used up (%). Sluice retries the run. Raise the quota if this ' +
    'happens again.',
);
const cancelled = passing('cancelled_by_server', 'BigQuery ended the job (%).');
const statement = lasting(
  'statement_refused',
  'BigQuery refused the statement (%). The table may not fit the export: compare its columns ' +
    'with those of the preview, or export to a separate table.',
);
const value = lasting(
  'value_refused',
  'BigQuery refuses a value (%). Change the type of the column, or let the export create ' +
    'the table.',
);

/**
 * Faults that only Google's message identifies; they are checked before its reasons. `%` is
 * replaced by the message.
 */
const by_message: [RegExp, Fault][] = [
  [
    /concurrent update|could not serialize/i,
    passing(
      'conflict',
      'BigQuery ended the transaction because another one changes the same table.',
    ),
  ],
  [
    /too many partitions|partitions? (?:modif|produced|count)|partition modifications/i,
    lasting(
      'table_unsuitable',
      'The rows have more days than a table with partitions by day allows (%). Create the ' +
        'table yourself with partitions by month or without partitions, or export to another ' +
        'table.',
    ),
  ],
  [
    /rows? (?:size|is too large|too large|larger)|(?:maximum|max\.?) (?:row|record|cell) size/i,
    lasting(
      'limit_exceeded',
      "A row exceeds BigQuery's size limit (%). Do not send such large events.",
    ),
  ],
  [
    /required (?:field|column|value)|cannot be null|maximum length|out of range|bad (?:int64|double|value)/i,
    value,
  ],
  [
    new RegExp(`not found: table .*${stage_prefix}`, 'i'),
    passing(
      'slice_lost',
      'A staged part was deleted before it became visible; Sluice creates it again.',
    ),
  ],
  [
    /not found: dataset/i,
    lasting(
      'schema_missing',
      'The dataset does not exist in the project; create it or check the keys project_id and ' +
        'dataset_id.',
    ),
  ],
  [
    /not found: project|project .* not (?:found|exist)|unknown project/i,
    lasting('database_missing', 'The project does not exist; check the key project_id.'),
  ],
];

/** By the reason of an answer or a job, or the error of the token service. */
const by_reason: Record<string, Fault> = {
  invalid_grant: credentials,
  invalid_client: credentials,
  unauthorized_client: credentials,
  authError: credentials,
  accessDenied: denied,
  forbidden: denied,
  insufficientPermissions: denied,
  accessNotConfigured: lasting(
    'permission_denied',
    'The BigQuery API is not enabled in the project; enable it there.',
  ),
  billingNotEnabled: lasting(
    'permission_denied',
    'The project has no billing, which transactions of BigQuery need; enable billing there.',
  ),
  billingTierLimitExceeded: lasting(
    'permission_denied',
    'A limit on the cost of queries ended the job (%). Raise it for the service account.',
  ),
  quotaExceeded: busy,
  rateLimitExceeded: throttled,
  userRateLimitExceeded: throttled,
  jobRateLimitExceeded: throttled,
  blocked: throttled,
  backendError: server_fault,
  internalError: server_fault,
  jobBackendError: server_fault,
  jobInternalError: server_fault,
  tableUnavailable: server_fault,
  resourceInUse: passing('locked', 'Another job of BigQuery holds the table (%).'),
  resourcesExceeded: passing(
    'out_of_resources',
    'The job needs more resources than BigQuery gives it (%). Choose a shorter interval if this ' +
      'happens again.',
  ),
  stopped: cancelled,
  timeout: cancelled,
  duplicate: passing('conflict', 'Another session created the same object at the same moment.'),
  notFound: lasting('table_missing', 'The table or one that it needs is gone (%).'),
  invalid: value,
  invalidQuery: statement,
  responseTooLarge: statement,
};

const by_name: Record<string, Fault> = {
  ENOTFOUND: lasting(
    'host_not_found',
    'The host name cannot be resolved; check the key token_uri, and that this server reaches ' +
      'bigquery.googleapis.com.',
  ),
  ECONNREFUSED: passing(
    'connection_failed',
    'BigQuery or the token service does not answer; check the key token_uri, and that this ' +
      'server reaches bigquery.googleapis.com.',
  ),
};

// Google's own answers have a reason, so these come from a server in front of it.
const by_status: Record<number, Fault> = {
  401: credentials,
  403: lasting(
    'permission_denied',
    "The server at token_uri is not Google's and refuses the request. Check the key " +
      'token_uri and any proxy.',
  ),
  404: lasting(
    'authentication_failed',
    'There is no token service at the address of the key token_uri.',
  ),
};

/** Fields of the library's errors. */
type LibraryError = Error & { status?: number; response?: { status?: number; data?: unknown } };

/**
 * Returns Google's HTTP status, if any, reason and message of an error. Undefined for an error that
 * is not Google's.
 */
export function factsOf(
  error: unknown,
): { status: number | undefined; reason: string | undefined; message: string } | undefined {
  if (error instanceof JobError)
    return { status: undefined, reason: error.reason, message: error.message };
  const { response, status, message } = (error ?? {}) as LibraryError;
  if (response === undefined) return undefined;
  const said = readError(response.data);
  return {
    status: response.status ?? status,
    reason: said?.errors?.[0]?.reason,
    message: said?.message ?? message,
  };
}

/** Reads an error's body: an object of the API, or the name from the token service. */
function readError(
  data: unknown,
): { message?: string; errors?: { reason?: string }[] } | undefined {
  if (typeof data === 'string') {
    const parsed = parseJson(data);
    return typeof parsed === 'object' ? readError(parsed) : undefined;
  }
  const { error } = (data ?? {}) as {
    error?: string | { message?: string; errors?: { reason?: string }[] };
  };
  return typeof error === 'string' ? { message: error, errors: [{ reason: error }] } : error;
}

/**
 * Translates a fault of BigQuery or its connection into an error that says what to do, without the
 * config's secrets; other errors stay unchanged.
 */
export function bigQueryError(error: unknown, config: BigQueryConfig): unknown {
  const facts = factsOf(error);
  const fault = facts?.reason === undefined ? undefined : faultOf(facts.reason, facts.message);
  if (facts !== undefined && fault !== undefined)
    return explain(error, () => ({ fault, said: withoutSecrets(facts.message, config) }));
  return explainFault(error, { by_name, by_status }, (known) => ({
    names: causesOf(known).flatMap((cause) => [codeOf(cause) ?? '', cause.name]),
    status: facts?.status,
    said: facts === undefined ? '' : withoutSecrets(facts.message, config),
  }));
}

function faultOf(reason: string, message: string): Fault | undefined {
  const said = by_message.find(([pattern]) => pattern.test(message))?.[1];
  return said ?? (Object.hasOwn(by_reason, reason) ? by_reason[reason] : undefined);
}

/** Google's messages contain the account's name. */
function withoutSecrets(text: string, config: BigQueryConfig): string {
  return secret_keys.reduce((rest, key) => rest.replaceAll(config[key], '[hidden]'), text);
}

/**
 * Opens the translation of errors by `bigQueryError`; after a stop, errors stay unchanged, because
 * they only report the stop.
 */
export function bigQueryErrors(
  config: BigQueryConfig,
  signal: AbortSignal,
): (error: unknown) => unknown {
  return (error) => (signal.aborted ? error : bigQueryError(error, config));
}
