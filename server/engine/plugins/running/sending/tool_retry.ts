import { PluginCallError } from '../../sandbox/fault.ts';

/**
 * Thrown when a tool has to be tried again later. It never stops a config; `retry_seconds` is what
 * the tool asked for.
 */
export class ToolRetryError extends PluginCallError {
  readonly retry_seconds: number | undefined;
  constructor(message: string, retry_seconds: number | undefined) {
    super('runtime', message, true);
    this.retry_seconds = retry_seconds;
  }
}
