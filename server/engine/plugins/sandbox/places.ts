import type { MappedCode } from './fault.ts';
import type { PluginSlot } from './process_holder.ts';

/** A place in a package's own files, if known. */
export type Place = ReturnType<MappedCode['locate']>;

/** Asks the process for the place in the plugin's source at which it waits. */
export type Places = {
  /** Resolves within half a second; without a file if nothing is known. */
  find(): Promise<Place>;
  found(stack: string): void;
};

const place_milliseconds_max = 500;

/** `slot`: the plugin's place in a process, once it is attached. */
export function openPlaces(code: MappedCode, slot: () => PluginSlot): Places {
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
        slot().process.send({ type: 'where', instance: slot().instance });
      }),
    found: (stack) => {
      const place = code.locate(stack);
      for (const answer of waiting) answer(place);
    },
  };
}
