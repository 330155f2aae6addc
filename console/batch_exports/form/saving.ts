import { useRef, useState } from 'react';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { keysOf } from '../../destinations/config.ts';
import { faultOfTest } from '../../destinations/labels.ts';
import { Problem } from '../../http/problem.ts';
import { triedOf, useTest } from './asking.ts';
import type { NewExport } from './draft.ts';
import type { pathsOf } from './paths.ts';
import { useRestartAsked } from './restart.tsx';
import type { Delivered } from './restart.tsx';

type Given = {
  /** The content of the form, and the same with a name, because a test needs none. */
  typed: NewExport;
  body: NewExport;
  /** The type as the form shows it, and with all its keys. */
  type: DestinationType | undefined;
  chosen: DestinationType | undefined;
  is_new: boolean;
};

/**
 * Saves a form's content: tests it, asks about a restart, and then sends it. `force` sends it
 * despite a failed test.
 */
export function useSaving(
  paths: ReturnType<typeof pathsOf>,
  if_match: string | undefined,
  given: Given,
) {
  const { typed, is_new } = given;
  const [refusal, setRefusal] = useState<Problem | null>();
  const trial = useTrial(paths.test, if_match, { ...given, refused: setRefusal });
  const { asked, confirm, answer } = useRestartAsked(paths.effect, if_match, setRefusal);
  // The accepted fields are sent, even if the person types more meanwhile.
  const accepted = useRef<{ body: NewExport; ranges: Delivered }>({ body: typed, ranges: [] });
  const is_forced = useRef(false);
  return {
    trial,
    refusal,
    asked,
    answer,
    accepted: () => accepted.current,
    confirm: async (): Promise<boolean> => {
      setRefusal(undefined);
      // With an empty name, so that all faults are reported at once.
      const is_tested = is_forced.current || (await trial.passes(typed, is_new));
      is_forced.current = false;
      const ranges = is_tested ? await confirm(typed) : undefined;
      accepted.current = { body: typed, ranges: ranges ?? [] };
      return ranges !== undefined;
    },
    force: (form: HTMLFormElement | null) => {
      is_forced.current = true;
      form?.requestSubmit();
    },
  };
}

/** A change of one of these needs a test: the table may lack an index, a column or a right. */
const tested_fields = ['destination', 'connection_id', 'model', 'mode', 'primary_key'] as const;

/**
 * The connection test of the form. `passes` tests the content to save, once for each content, and
 * gives the form the fault of a failed test.
 */
function useTrial(
  path: ReturnType<typeof pathsOf>['test'],
  if_match: string | undefined,
  { body, type, chosen, refused }: Given & { refused: (problem: Problem | null) => void },
) {
  const test = useTest(path, if_match);
  const tried = triedOf(body);
  const of = test.variables === undefined ? undefined : triedOf(test.variables);
  const run = async (asked: NewExport): Promise<boolean> => {
    try {
      const tested = await test.mutateAsync(asked);
      const fault = chosen === undefined ? undefined : faultOfTest(chosen, tested);
      if (fault === undefined) return true;
      const is_shown = keysOf(type!).some(([key]) => key === fault.key);
      // The other keys belong to the connection.
      const place = fault.key === undefined ? null : 'connection_id';
      const attr = is_shown ? `destination__config__${fault.key}` : place;
      refused(new Problem(400, [{ attr, code: 'invalid_input', detail: fault.detail }]));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      refused(error);
    }
    return false;
  };
  const is_old = of !== tried;
  const is_passed = test.data?.steps.every(({ status }) => status !== 'failed');
  return {
    test: test.data,
    is_testing: test.isPending,
    is_old,
    has_failed: is_passed === false && !is_old && !test.isPending,
    press: () => {
      refused(null);
      void run(body);
    },
    passes: async (asked: NewExport, is_new: boolean): Promise<boolean> => {
      const is_other = is_new || tested_fields.some((field) => field in asked);
      return !is_other || (is_passed === true && !is_old) || run(asked);
    },
  };
}
