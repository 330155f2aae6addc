/** Gathers what is wrong with a document, so that its author hears of everything at once. */
export type Faults = {
  /** The sentences' parts so far, each begins with the path of a key. */
  list: string[];
  /** Adds one: the path of the key (`config[2].type`) and what it must be. */
  add(path: string, detail: string): void;
};

const faults_max = 20;

/** Opens an empty list; what comes after the 20th fault is not noted. */
export function openFaults(): Faults {
  const list: string[] = [];
  return {
    list,
    add: (path, detail) => {
      if (list.length < faults_max) list.push(`${path} ${detail}`);
    },
  };
}

/** A value for a sentence, cut when it is long. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
