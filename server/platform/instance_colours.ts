/** The colours that a server's name may have in the console: each is legible in both themes. */
export const instance_colours = ['blue', 'green', 'orange', 'red', 'purple', 'grey'] as const;
