/** Collects the faults of a document, so that its author gets all of them at once. */
export type Faults = {
  /** The faults so far; each begins with the path of a key. */
  list: string[];
  /** Adds a fault: the path of the key (`config[2].type`) and its requirement. */
  add(path: string, detail: string): void;
};

const faults_max = 20;

/** Opens an empty list; faults after the 20th are ignored. */
export function openFaults(): Faults {
  const list: string[] = [];
  return {
    list,
    add: (path, detail) => {
      if (list.length < faults_max) list.push(`${path} ${detail}`);
    },
  };
}

/** Formats a value for a sentence; long ones are cut. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
