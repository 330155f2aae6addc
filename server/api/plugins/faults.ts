import { PluginError } from '../../engine/plugins/plugin.ts';
import { pluginFault } from '../../engine/plugins/plugin_fault.ts';
import { conflict, invalidMany } from '../../platform/http/errors.ts';

/** Longest time that one request waits for an origin, all its answers together. */
const fetch_ms_max = 120_000;

/**
 * Runs work on a package and turns what is wrong with it or with its origin into a 400 on the
 * field, with file, line and column where they are known: `unavailable` for an origin that does not
 * answer (the same request may work later), `invalid_input` for the rest. Other errors go on as
 * they are.
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
 * As `namingFaults`, for work that is bounded in time by `signal`: an origin that takes too long is
 * one that does not answer.
 */
export function fetching<Result>(
  attr: string,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const signal = AbortSignal.timeout(fetch_ms_max);
  const slow = 'The origin did not answer in time: try again later, or look whether it is well.';
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
 * As `namingFaults` for stored code: what cannot be loaded is a 409, because nothing in the request
 * is wrong.
 */
export async function loading<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof PluginError ? conflict(error.message) : error;
  }
}
