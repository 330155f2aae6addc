import { jitsu } from './jitsu/jitsu.ts';
import { opentelemetry } from './opentelemetry/opentelemetry.ts';
import { posthog } from './posthog/posthog.ts';
import type { Protocol } from './protocol.ts';
import { rudderstack } from './rudderstack/rudderstack.ts';
import { segment } from './segment/segment.ts';
import { snowplow } from './snowplow/snowplow.ts';

/**
 * All protocols, one line each. If two share a path, the first one that recognises the body
 * answers.
 */
export const protocols: readonly Protocol[] = [
  posthog,
  segment,
  rudderstack,
  jitsu,
  snowplow,
  opentelemetry,
];
