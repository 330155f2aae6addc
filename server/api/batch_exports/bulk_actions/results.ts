import { ApiError } from '../../../platform/http/errors.ts';

/** A pending item of an action. */
export type Item = { number: number; batch_export_id: string; run_id: string | null };
export type Result = {
  number: number;
  outcome: 'succeeded' | 'unchanged' | 'refused';
  detail: string | null;
  new_run_id: string | null;
};

/**
 * A refusal of the API becomes the result of the item; the API refuses before it changes anything.
 */
export async function resultOf(
  item: Item,
  work: () => Promise<Pick<Result, 'outcome'> & { new_run_id?: string }>,
): Promise<Result> {
  try {
    return { ...succeeded(item), ...(await work()) };
  } catch (error) {
    return refused(item, refusalOf(error));
  }
}

/** Returns the sentence of an API refusal; rethrows any other error. */
export function refusalOf(error: unknown): string {
  if (!(error instanceof ApiError)) throw error;
  return error.violations[0]!.detail;
}

/** Returns the result of an item that succeeded. */
export function succeeded({ number }: Item): Result {
  return { number, outcome: 'succeeded', detail: null, new_run_id: null };
}

/** Returns the result of an item that was refused, with the sentence that says why. */
export function refused({ number }: Item, detail: string): Result {
  return { number, outcome: 'refused', detail, new_run_id: null };
}
