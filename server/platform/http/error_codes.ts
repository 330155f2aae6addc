/** Every `code` of an error body. The list is closed: docs/api.md explains each. */
export const error_codes = [
  'already_verified',
  'authentication_failed',
  'blank',
  'conflict',
  'error',
  'expired',
  'feature_not_available',
  'idempotency_mismatch',
  'invalid_choice',
  'invalid_input',
  'max_items',
  'max_length',
  'max_value',
  'method_not_allowed',
  'min_items',
  'min_length',
  'min_value',
  'not_a_list',
  'not_acceptable',
  'not_authenticated',
  'not_found',
  'null',
  'null_characters_not_allowed',
  'own_factor_required',
  'parse_error',
  'permission_denied',
  'precondition_failed',
  'precondition_required',
  'read_only',
  'request_too_large',
  'required',
  'second_factor_required',
  'sso_enforced',
  'throttled',
  'unavailable',
  'unique',
  'unknown_field',
  'unsupported_media_type',
  'verification_required',
] as const;

export type ErrorCode = (typeof error_codes)[number];

/** The five families of errors. */
export const error_types = [
  'validation_error',
  'invalid_request',
  'authentication_error',
  'throttled_error',
  'server_error',
] as const;
export type ErrorType = (typeof error_types)[number];
