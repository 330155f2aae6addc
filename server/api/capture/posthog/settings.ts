import { unauthenticated } from '../../../platform/http/errors.ts';
import { jsonAnswer } from '../protocol.ts';
import type { Answer, Asked, SettingsDoor } from '../protocol.ts';

/** Turns off the other features of PostHog's clients, so that they stop asking for them. */
const config = {
  supportedCompression: ['gzip', 'gzip-js'],
  hasFeatureFlags: false,
  sessionRecording: false,
  surveys: false,
  heatmaps: false,
  captureDeadClicks: false,
  capturePerformance: false,
  autocaptureExceptions: false,
  autocapture_opt_out: false,
  errorTracking: { autocaptureExceptions: false },
  logs: { captureConsoleLogs: false },
  conversations: false,
  productTours: false,
  elementsChainAsString: true,
  analytics: { endpoint: '/i/v0/e/' },
  siteApps: [],
  toolbarParams: {},
  isAuthenticated: false,
  defaultIdentifiedOnly: true,
};
const no_flags = {
  flags: {},
  featureFlags: {},
  featureFlagPayloads: {},
  errorsWhileComputingFlags: false,
};
const script = 'application/javascript; charset=utf-8';

const taken = () => jsonAnswer({ status: 1 });

function configScript({ key }: Asked): Answer {
  const token = JSON.stringify(key);
  return {
    type: script,
    body:
      '(function(){window._POSTHOG_REMOTE_CONFIG=window._POSTHOG_REMOTE_CONFIG||{};' +
      `window._POSTHOG_REMOTE_CONFIG[${token}]={config:${JSON.stringify(config)},siteApps:[]}})();`,
  };
}

function definitions({ has_bearer }: Asked): Answer {
  if (!has_bearer) throw unauthenticated('not_authenticated', 'Send a personal key as Bearer.');
  return jsonAnswer({ flags: [], group_type_mapping: {}, cohorts: {} });
}

/** Answers to requests without events: flags, surveys, recordings and metrics. */
export const posthogSettings: readonly SettingsDoor[] = [
  {
    paths: ['/array/:key/config'],
    summary: "Read the settings of PostHog's clients",
    key: true,
    answer: () => jsonAnswer(config),
  },
  {
    paths: ['/array/:key/config.js'],
    summary: "Read the settings of PostHog's clients as a script",
    answers: 'application/javascript',
    key: true,
    answer: configScript,
  },
  {
    paths: ['/flags/', '/decide/'],
    summary: 'Return no feature flags',
    methods: ['POST', 'GET'],
    answer: () =>
      jsonAnswer({ ...no_flags, ...config, config: { enable_collect_everything: true } }),
  },
  {
    paths: ['/flags/definitions/', '/api/feature_flag/local_evaluation/'],
    summary: 'Return no definitions of feature flags',
    answer: definitions,
  },
  // Clients pass the body to the program as the flag's payload, whatever the status is.
  {
    paths: ['/api/projects/@current/feature_flags/:name/remote_config/'],
    summary: 'Return the payload of a feature flag: null',
    answer: () => jsonAnswer(null),
  },
  {
    paths: ['/api/surveys/', '/api/early_access_features/', '/api/web_experiments/'],
    summary: 'Return features that are off: an empty list',
    answer: ({ path }) =>
      jsonAnswer(
        path.includes('surveys')
          ? { surveys: [] }
          : path.includes('early')
            ? { earlyAccessFeatures: [] }
            : { experiments: [] },
      ),
  },
  {
    paths: ['/s/', '/i/v1/metrics/', '/i/v1/traces/'],
    summary: 'Send recordings, metrics or traces: they are accepted and not stored',
    methods: ['POST', 'GET'],
    keeps_nothing: true,
    answer: taken,
  },
];
