import { PluginError } from '../../engine/plugins/plugin.ts';
import { pluginFault } from '../../engine/plugins/plugin_fault.ts';
import { conflict, invalidMany } from '../../platform/http/errors.ts';

/** Time limit of one request for all answers of an origin. */
const fetch_ms_max = 120_000;

/**
 * Runs work on a package, and turns faults of the package or its origin into a 400 on the field,
 * with file, line and column if they are known. `unavailable`: the origin does not answer, and the
 * same request may work later. `invalid_input`: any other fault. Rethrows other errors.
 */
export async function namingFaults<Result>(
  attr: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof PluginError ? invalidMany([pluginFault(error, attr)]) : error;
  }
}

/**
 * Like `namingFaults`, with a time limit by `signal`: a slow origin counts as one that does not
 * answer.
 */
export function fetching<Result>(
  attr: string,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const signal = AbortSignal.timeout(fetch_ms_max);
  const slow = 'The origin did not answer in time: try again later, or check whether it works.';
  return namingFaults(attr, async () => {
    try {
      return await work(signal);
    } catch (error) {
      if (signal.aborted || (error instanceof PluginError && error.code === 'timeout'))
        throw new PluginError('unreachable', slow, { cause: error });
      throw error;
    }
  });
}

/**
 * Like `namingFaults` for stored code: code that cannot be loaded is a 409, because the request is
 * not at fault.
 */
export async function loading<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof PluginError ? conflict(error.message) : error;
  }
}
