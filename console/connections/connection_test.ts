import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { DestinationTest } from '../../server/api/batch_exports/drafts/schema.ts';
import type { DestinationType } from '../../server/api/destinations/schema.ts';
import { faultOfTest } from '../destinations/labels.ts';
import type { Config } from '../destinations/config.ts';
import { askForChange } from '../http/change.ts';
import { pathTo } from '../http/path.ts';
import { Problem } from '../http/problem.ts';

type Asked = { type: string; connection: Config; config: Config };
type Tried = {
  /** The chosen type with all its keys; undefined before a choice. */
  whole: DestinationType | undefined;
  /** The sent keys of the connection. */
  connection: Config;
  /** Keys of an export that the test needs. */
  config: Config;
};

/**
 * The test of a connection before it is saved. If it fails or lacks a value, nothing is saved and
 * the field shows the fault; `force` saves all the same.
 */
export function useConnectionTest(
  organization_id: string,
  id: string | undefined,
  { whole, connection, config }: Tried,
) {
  const [refusal, setRefusal] = useState<Problem>();
  const is_forced = useRef(false);
  const tried = { type: whole?.type ?? '', connection, config };
  const test = useAsking(organization_id, id);
  const is_old = JSON.stringify(test.variables) !== JSON.stringify(tried);
  const run = async (): Promise<boolean> => {
    try {
      const fault = whole && faultOfTest(whole, await test.mutateAsync(tried));
      if (fault === undefined) return true;
      const { key, detail } = fault;
      const part = whole!.connection_keys.includes(key ?? '') ? 'config__' : 'test__';
      const attr = key === undefined ? null : `${part}${key}`;
      setRefusal(new Problem(400, [{ attr, code: 'invalid_input', detail }]));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setRefusal(error);
    }
    return false;
  };
  const has_failed = test.data?.steps.some(({ status }) => status === 'failed') === true;
  // The connection itself is valid, as far as the API knows without a test.
  const lacks_place =
    test.error?.violations.every(({ attr }) => attr?.startsWith('test__')) === true;
  return {
    test: test.data,
    is_old,
    refusal,
    can_force: !is_old && !test.isPending && (has_failed || lacks_place),
    confirm: async (): Promise<boolean> => {
      setRefusal(undefined);
      const is_unchanged = id !== undefined && Object.keys(connection).length === 0;
      const is_accepted = is_forced.current || is_unchanged || (await run());
      is_forced.current = false;
      return is_accepted;
    },
    force: (form: HTMLFormElement | null) => {
      is_forced.current = true;
      form?.requestSubmit();
    },
  };
}

/** Returns the request for a test of a new connection, or of a change of the one with the id. */
function useAsking(organization_id: string, id: string | undefined) {
  const queries = useQueryClient();
  const ask = ({ type, ...sent }: Asked) =>
    id === undefined
      ? askForChange(
          queries,
          'POST',
          pathTo('/api/organizations/:organization_id/connections/test/', { organization_id }),
          { body: { type, ...sent } },
        )
      : askForChange(
          queries,
          'POST',
          pathTo('/api/organizations/:organization_id/connections/:id/test/', {
            organization_id,
            id,
          }),
          { body: sent },
        );
  return useMutation<DestinationTest, Problem, Asked>({
    mutationFn: async (asked) => {
      const outcome = await ask(asked);
      if (!outcome.ok) throw placed(outcome.problem);
      return outcome.body;
    },
  });
}

/** Returns the problem with its faults at the form's fields, for the API's names in a test. */
function placed({ status, violations, request_id }: Problem): Problem {
  const attrOf = (attr: string | null) =>
    attr === null
      ? null
      : attr.startsWith('connection__')
        ? attr.replace('connection__', 'config__')
        : attr.replace(/^config__/, 'test__');
  const moved = violations.map((one) => ({ ...one, attr: attrOf(one.attr) }));
  return new Problem(status, moved, request_id);
}
