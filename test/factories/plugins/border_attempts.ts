import { fails, gives } from './reaching_attempts.ts';
import type { Attempt } from './reaching_attempts.ts';

/**
 * Attempts at values that cross the border in either direction: a name, the body of an
 * `onEvent(event, meta)`, and the required outcome. A body that begins with // is put at the top of
 * the module instead.
 */
export const border_attempts: Attempt[] = [
  [
    'toJSON of all lists',
    'Array.prototype.toJSON = () => ({ 0: "a", length: 1 }); return meta.storage.get("a")' +
      '.catch((error) => /must be array/.test(error.message));',
    gives(true),
  ],
  [
    'a stack that throws when an answer comes',
    'Error.prepareStackTrace = () => { throw new Error("trap"); }; await ' +
      'fetch("http://127.0.0.1:1/").catch(() => {}); return "went on";',
    gives('went on'),
  ],
  [
    'texts of all objects that throw',
    'Object.prototype.toJSON = () => { throw new Error("trap"); }; throw new Error("x");',
    fails('runtime'),
  ],
  [
    'metrics and jobs with names of Object.prototype',
    `// const named = (value) => Object.fromEntries(['__proto__', 'constructor'].map((name) =>
      [name, value]));
    exports.metrics = named('sum'); exports.jobs = named(() => 1);
    exports.onEvent = async (event, meta) => {
      const [metrics, jobs] = [meta.metrics, meta.jobs].map(Object.getOwnPropertyDescriptors);
      await metrics.constructor.value.increment(5);
      await jobs.constructor.value({ polluted: 1 }).runNow();
      return ({}).polluted ?? 'none';
    };`,
    gives('none'),
  ],
];
