import type { AnswerRule, KnownAnswers } from './answers.ts';

// Documented answers of vendors whose status alone would mislead: a refusal with 200, a wrong key
// with 400, a limit with 403. test/vendors plays these answers.

/** Business API of TikTok: each answer is 200, and its `code` is the result. */
const tiktok: KnownAnswers = {
  whole: [
    { path: 'code', is: [40_100], means: 'paced', reason: 'message' },
    { path: 'code', is: [40_001, 40_104, 40_105], means: 'denied', reason: 'message' },
    { path: 'code', is: [50_000, 50_002], means: 'retry', reason: 'message' },
  ],
  single: [{ path: 'code', not: [0], means: 'refused', reason: 'message' }],
};

/** Graph API of Meta: 400 for most errors; `code` names the kind. */
const meta: AnswerRule[] = [
  {
    path: 'error.code',
    is: [4, 17, 32, 613, 80_000, 80_003, 80_004, 80_014],
    means: 'paced',
    reason: 'error.message',
    rest_seconds: 60,
  },
  { path: 'error.code', is: [10, 102, 190, 200], means: 'denied', reason: 'error.message' },
  { path: 'error.code', is: [1, 2], means: 'retry', reason: 'error.message' },
];

/** Lists of Iterable that name refused events by the value of a field. */
const iterable_lists = {
  invalidEmails: 'email',
  'failedUpdates.invalidEmails': 'email',
  'failedUpdates.notFoundEmails': 'email',
  'failedUpdates.conflictEmails': 'email',
  'failedUpdates.forgottenEmails': 'email',
  invalidUserIds: 'userId',
  'failedUpdates.invalidUserIds': 'userId',
  'failedUpdates.notFoundUserIds': 'userId',
  'failedUpdates.conflictUserIds': 'userId',
  'failedUpdates.forgottenUserIds': 'userId',
  disallowedEventNames: 'eventName',
};

/** Known answers of vendors, by the folder of their destination. */
export const known_answers: Partial<Record<string, KnownAnswers>> = {
  amplitude: {
    whole: [
      {
        status: [400],
        path: 'error',
        begins: 'Invalid API key',
        means: 'denied',
        reason: 'error',
      },
      // Each user and device has a rate; the documentation asks for a pause of 30 seconds.
      { status: [429], means: 'person', reason: 'error', rest_seconds: 30 },
    ],
  },
  braze: {
    single: [
      { status: [200, 201], path: 'errors.0', not: [], means: 'refused', reason: 'errors.0.type' },
    ],
  },
  customerio: {
    members: [
      { status: [200, 207], list: 'errors', at: 'batch_index', reason: ['reason', 'message'] },
    ],
  },
  'facebook-conversions-api': { whole: meta },
  hubspot: {
    whole: [
      {
        status: [429],
        path: 'policyName',
        is: ['TEN_SECONDLY_ROLLING', 'SECONDLY'],
        means: 'paced',
        reason: 'message',
        rest_seconds: 10,
      },
      // The account is being migrated, which takes up to a day.
      { status: [477], means: 'retry', reason: 'message' },
    ],
  },
  iterable: {
    members: Object.entries(iterable_lists).map(([list, field]) => ({
      status: [200],
      list,
      field,
      reason: ['Iterable lists it among', list.split('.').at(-1)!],
    })),
  },
  'linkedin-conversions': {
    members: [{ status: [200, 207], list: 'elements', code: 'status', reason: ['error.message'] }],
  },
  mixpanel: {
    // Profiles always get a 200.
    single: [{ status: [200], is: ['0'], means: 'refused' }],
    features: { 'mixpanel-multistatus': true },
  },
  salesforce: {
    whole: [
      {
        status: [403],
        path: '0.errorCode',
        is: ['REQUEST_LIMIT_EXCEEDED'],
        means: 'paced',
        reason: '0.message',
        rest_seconds: 60,
      },
      { path: '0.errorCode', is: ['UNABLE_TO_LOCK_ROW'], means: 'retry', reason: '0.message' },
    ],
  },
  slack: {
    whole: [
      {
        status: [403, 404],
        is: ['invalid_token', 'no_active_hooks', 'no_service', 'no_service_id', 'no_team'],
        means: 'denied',
      },
    ],
  },
  'tiktok-app-events': tiktok,
  'tiktok-conversions': tiktok,
  'tiktok-offline-conversions': tiktok,
};
