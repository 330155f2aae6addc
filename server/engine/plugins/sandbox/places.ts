import type { MappedCode } from './fault.ts';
import type { Seat } from './process_holder.ts';

/** A place in a package's own files, as far as it is known. */
export type Place = ReturnType<MappedCode['locate']>;

/** Asks the process for the place in the plugin's source at which it waits. */
export type Places = {
  /** Resolves within half a second; without a file where nothing is known. */
  find(): Promise<Place>;
  found(stack: string): void;
};

const place_milliseconds_max = 500;

/** `seat`: where the plugin sits, once it does. */
export function openPlaces(code: MappedCode, seat: () => Seat): Places {
  const waiting = new Set<(place: Place) => void>();
  return {
    find: () =>
      new Promise((resolve) => {
        const answer = (place: Place): void => {
          clearTimeout(timer);
          waiting.delete(answer);
          resolve(place);
        };
        const timer = setTimeout(() => answer({}), place_milliseconds_max);
        waiting.add(answer);
        seat().process.send({ type: 'where', instance: seat().instance });
      }),
    found: (stack) => {
      const place = code.locate(stack);
      for (const answer of waiting) answer(place);
    },
  };
}
