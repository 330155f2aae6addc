import type { PluginTryOutResult } from '../../../server/api/plugin_configs/try_out/schema.ts';
import type { Violation } from '../../../server/platform/http/errors.ts';

/** A fault of a file; lines and columns count from 1. */
export type CodeFault = { file: string; line: number; column: number; message: string };

/** Returns the faults with a file and a line, without the position in their sentence. */
export function placedFaults(violations: readonly Violation[]): CodeFault[] {
  return violations.flatMap(({ file, line, column = 1, detail }) => {
    if (file === undefined || line === undefined) return [];
    const place = `${file}, line ${line}, column ${column}: `;
    const message = detail.startsWith(place) ? detail.slice(place.length) : detail;
    return [{ file, line, column, message }];
  });
}

/** Returns the position at which a trial failed, if it is in a file. */
export function thrownFaults({ calls }: Pick<PluginTryOutResult, 'calls'>): CodeFault[] {
  return calls.flatMap(({ error }) =>
    error === null || error.file === null || error.line === null
      ? []
      : [
          {
            file: error.file,
            line: error.line,
            column: error.column ?? 1,
            message: error.message,
          },
        ],
  );
}
