import { writeToolPackage } from './tool_package.ts';

/** The name of the destination that runs code from an event. */
export const hostile_directory = 'hostile';

/**
 * A package of tools in the layout of the library. Its only destination runs the text of an event
 * as code: the worst that a destination could do.
 */
export function writeHostilePackage(tools_dir: string): void {
  writeToolPackage(tools_dir, {
    version: '1.0.0',
    directories: [hostile_directory],
    code: destination,
  });
}

// The outcome's reason has the words of an attempt.
const destination = `
  const Work = Object.getPrototypeOf(async function () {}).constructor;
  exports.default = {
    name: 'Hostile',
    actions: { run: { fields: {}, perform: async (event, settings) => {
      let words;
      try {
        const work = new Work('require', 'module', 'settings', event.properties.code);
        const given = await work(require, module, settings);
        words = 'gave ' + (typeof given === 'string' ? given : JSON.stringify(given));
      } catch (error) {
        words = 'failed: ' +
          (error && (error.code || error.cause && error.cause.code) || '') + ' ' +
          (error && error.message) + ' ' + (error && error.cause && error.cause.message || '');
      }
      throw Object.assign(new Error(words), { name: 'Words' });
    } } },
  };`;
