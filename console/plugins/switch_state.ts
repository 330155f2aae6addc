import type { PluginConfigRow } from '../../server/api/plugin_configs/schema.ts';

/** The state of a plugin in a project: word, shape, colour, and the button that changes it. */
export type SwitchState = {
  word: string;
  shape: string;
  tone: 'good' | 'bad' | 'warn' | 'muted';
  button: string;
};

/** Returns the state of a plugin in a project; its error says since when and why. */
export function switchState({
  enabled,
  error,
}: Pick<PluginConfigRow, 'enabled' | 'error'>): SwitchState {
  if (enabled)
    return error === null
      ? { word: 'On', shape: '●', tone: 'good', button: 'Switch off' }
      : { word: 'On, but waiting', shape: '◐', tone: 'warn', button: 'Switch off' };
  return error === null
    ? { word: 'Off', shape: '○', tone: 'muted', button: 'Switch on' }
    : { word: 'Stopped by Sluice', shape: '✕', tone: 'bad', button: 'Switch on again' };
}
