import { jitsu } from './jitsu/jitsu.ts';
import { opentelemetry } from './opentelemetry/opentelemetry.ts';
import { posthog } from './posthog/posthog.ts';
import type { Protocol } from './protocol.ts';
import { rudderstack } from './rudderstack/rudderstack.ts';
import { segment } from './segment/segment.ts';
import { snowplow } from './snowplow/snowplow.ts';

/** Every protocol, one line each. Where two share a path, the first that recognises the body. */
export const protocols: readonly Protocol[] = [
  posthog,
  segment,
  rudderstack,
  jitsu,
  snowplow,
  opentelemetry,
];
