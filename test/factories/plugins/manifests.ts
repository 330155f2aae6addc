import assert from 'node:assert/strict';
import { PluginError } from '../../../server/engine/plugins/plugin.ts';

/** Returns the error of `work`. */
export const faultOf = (work: () => unknown): PluginError => {
  try {
    work();
  } catch (error) {
    assert(error instanceof PluginError, String(error));
    return error;
  }
  return assert.fail('nothing was thrown');
};
