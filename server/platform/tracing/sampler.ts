/** The samplers of the OpenTelemetry specification that this server supports. */
export const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Decides whether a trace is exported: by its id, and the caller's flag, if any. */
export type Sampler = (trace_id: string, parent: { is_sampled: boolean } | undefined) => boolean;

/**
 * Opens a sampler. Guarantee: every process with the same ratio decides alike on the same trace,
 * since the decision only depends on the random half of its id.
 */
export function openSampler(name: string, ratio: number): Sampler {
  const threshold = 2 ** 52 * ratio;
  const own: Sampler = (trace_id) => {
    if (name.endsWith('always_on')) return true;
    return name.endsWith('traceidratio') && Number.parseInt(trace_id.slice(-13), 16) < threshold;
  };
  return name.startsWith('parentbased_')
    ? (trace_id, parent) => parent?.is_sampled ?? own(trace_id, undefined)
    : own;
}
