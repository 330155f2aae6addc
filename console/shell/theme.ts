import { createTheme } from '@mantine/core';
import type { CSSVariablesResolver, MantineColorsTuple } from '@mantine/core';

const ink: MantineColorsTuple = [
  '#edf4fa',
  '#dbe7f1',
  '#b3cee4',
  '#89b3d7',
  '#669dcc',
  '#508fc6',
  '#3f84bf',
  '#2a6ca5',
  '#1c5d99',
  '#124a7d',
];

/** The greys of the dark theme, slightly blue like the greys of the light theme. */
const dark: MantineColorsTuple = [
  '#d5dce4',
  '#b9c3ce',
  '#9aa5b3',
  '#6f7b89',
  '#3b4550',
  '#2d343d',
  '#1d232a',
  '#14181d',
  '#101418',
  '#0c0f12',
];

/** The look of the console: one font, small and dense, one colour for actions. */
export const theme = createTheme({
  colors: { ink, dark },
  primaryColor: 'ink',
  primaryShade: { light: 8, dark: 8 },
  fontFamily: "Geist, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  defaultRadius: 'sm',
  radius: { sm: '6px', md: '10px' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  lineHeights: { md: '1.5' },
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '18px' },
  components: {
    Button: { defaultProps: { size: 'sm', variant: 'default' } },
    Checkbox: { defaultProps: { radius: 4 } },
    TextInput: { defaultProps: { size: 'sm' } },
    PasswordInput: { defaultProps: { size: 'sm' } },
    NativeSelect: { defaultProps: { size: 'sm' } },
    Menu: { defaultProps: { shadow: 'md' } },
    Table: { defaultProps: { verticalSpacing: 6, horizontalSpacing: 'sm' } },
  },
});

/** Text colours have a contrast of at least 4.5 to 1 in both themes. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-text': '#1a1f26',
    '--mantine-color-dimmed': '#586272',
    '--mantine-color-placeholder': '#667080',
    '--mantine-color-error': '#b3261e',
    '--mantine-color-anchor': '#1c5d99',
    '--ground': '#f6f7f9',
    '--page': '#ffffff',
    '--panel': '#f6f8fa',
    '--line': '#e1e5eb',
    '--good': '#1a6b37',
    '--warn': '#8a5200',
    '--bad': '#b3261e',
    '--destroys': '#b3261e',
  },
  dark: {
    '--mantine-color-body': '#161a20',
    '--mantine-color-text': '#e3e8ee',
    '--mantine-color-dimmed': '#9aa5b3',
    '--mantine-color-placeholder': '#8b96a5',
    '--mantine-color-error': '#ff8f86',
    '--mantine-color-anchor': '#89b3d7',
    '--ground': '#0f1216',
    '--page': '#161a20',
    '--panel': '#1c2129',
    '--line': '#2b323b',
    '--good': '#79cf95',
    '--warn': '#e5b567',
    '--bad': '#ff8f86',
    '--destroys': '#b3261e',
  },
});
