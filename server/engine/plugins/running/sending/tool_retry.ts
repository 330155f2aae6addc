import { PluginCallError } from '../../sandbox/fault.ts';

/**
 * Thrown if a tool must be retried later. It never stops a config; `retry_seconds` is the pause
 * that the tool requested.
 */
export class ToolRetryError extends PluginCallError {
  readonly retry_seconds: number | undefined;
  constructor(message: string, retry_seconds: number | undefined) {
    super('runtime', message, true);
    this.retry_seconds = retry_seconds;
  }
}
