import { instance_colours } from '../platform/instance_colours.ts';
import { choice, setting, text } from './values.ts';

/** Settings that show people which server they use. */
export const instance_settings = {
  instance_name: setting(
    'SLUICE_INSTANCE_NAME',
    '',
    text,
    'Name of this server, such as `Staging`. The console shows it in a bar above each page and ' +
      'in the title of the tab. Default: no bar.',
  ),
  instance_colour: setting(
    'SLUICE_INSTANCE_COLOUR',
    'blue',
    choice(...instance_colours),
    'Colour of the bar with the name.',
  ),
};
