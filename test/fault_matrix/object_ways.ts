import { eventually } from '../eventually.ts';
import { impatient } from './matrix.ts';
import type { Ending, FaultCase, Scene } from './matrix.ts';

type Faulty = {
  requests: string[];
  failNext(pattern: RegExp, status: number, code: string): void;
  holdNext(pattern: RegExp): void;
};
/** A store under test: its requests, and places in it. */
export type Store = {
  destination: string;
  server: Faulty;
  place(): Scene & { config: Record<string, unknown> };
};

/** Number of times that a client sends a request within one attempt, for temporary faults. */
const tries = 3;

/** Only another config helps. */
export function configured(
  { destination, place }: Store,
  fault: string,
  code: string,
  changes: Record<string, unknown>,
): FaultCase {
  const prepare = async (): Promise<Scene> => {
    const scene = place();
    return { ...scene, config: { ...scene.config, ...changes }, is_lasting: true };
  };
  return { destination, fault, code, ending: 'Failed', prepare };
}

/**
 * Faults in which the store answers the requests below the export's prefix like this, for all
 * attempts of the client.
 */
export function answering({ destination, server, place }: Store, request: RegExp) {
  return (fault: string, status: number, name: string, code: string, ending: Ending): FaultCase => {
    const prepare = async (): Promise<Scene> => {
      const scene = place();
      const times = status >= 500 ? tries : 1;
      const pattern = below(request, scene);
      return {
        ...scene,
        strike: async () =>
          Array(times)
            .fill(0)
            .forEach(() => server.failNext(pattern, status, name)),
      };
    };
    return { destination, fault, code, ending, prepare };
  };
}

/** The store never answers, and the run is cancelled. */
export function hanging({ destination, server, place }: Store, request: RegExp): FaultCase {
  const prepare = async (): Promise<Scene> => {
    const scene = place();
    const pattern = below(request, scene);
    return {
      ...scene,
      strike: async () => server.holdNext(pattern),
      meanwhile: async () => {
        await eventually('it has never come to the fault', () =>
          server.requests.some((line) => pattern.test(line)),
        );
        return 'cancelled';
      },
    };
  };
  return {
    destination,
    fault: 'it hangs, and the run is cancelled',
    code: 'cancelled',
    ending: 'Cancelled',
    prepare,
  };
}

/** The store never answers, and the run reaches its time limit. */
export function silent({ destination, server, place }: Store, request: RegExp): FaultCase {
  return impatient(destination, async () => {
    const scene = place();
    return { ...scene, strike: async () => server.holdNext(below(request, scene)) };
  });
}

/**
 * Creates a case in which the written parts are removed once the store is back. `visible` also
 * counts open uploads.
 */
export function awayWhenCancelled(
  { destination, server, place }: Store,
  openUploads: (prefix: string) => number,
): FaultCase {
  const prepare = async (): Promise<Scene> => {
    const scene = place();
    const prefix = `${String(scene.config['prefix'])}/`;
    const held = below(/^PUT /, scene);
    return {
      ...scene,
      visible: async () => (await scene.visible()) + openUploads(prefix),
      strike: async () => server.holdNext(held),
      meanwhile: async () => {
        await eventually('it has never come to the fault', () =>
          server.requests.some((line) => held.test(line)),
        );
        for (const question of [below(/^DELETE /, scene), /^GET .*uploads/])
          for (let count = 0; count < tries; count += 1) server.failNext(question, 503, 'SlowDown');
        return 'cancelled';
      },
    };
  };
  return {
    destination,
    fault: 'it hangs, the run is cancelled, and it is away for a moment',
    code: 'cancelled',
    ending: 'Cancelled',
    prepare,
  };
}

/**
 * Returns the pattern for the lines that name the case's own prefix, so that no fault is left for
 * another case.
 */
function below(request: RegExp, { config }: Scene): RegExp {
  const { source } = request;
  const rest = source.startsWith('^') ? source.slice(1) : `.*${source}`;
  return new RegExp(`^(?=.*${String(config['prefix'])}[^0-9])${rest}`);
}
