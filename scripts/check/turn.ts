/** A run has one of this many numbers, which every usual number of turns divides. */
export const turns_max = 5_040;
