import type { MantineColorScheme } from '@mantine/core';
import IconDeviceDesktop from 'icon:device-desktop';
import IconMoon from 'icon:moon';
import IconSun from 'icon:sun';

/** The themes to choose from. */
export const themes = [
  { value: 'auto', label: 'As the system', icon: IconDeviceDesktop },
  { value: 'light', label: 'Light', icon: IconSun },
  { value: 'dark', label: 'Dark', icon: IconMoon },
] as const satisfies { value: MantineColorScheme; label: string; icon: typeof IconSun }[];
