/** Rows of a source page that a result keeps, those with most samples first: larger kernels lose rows, and the views say how many. */
export const SOURCE_LIMITS = { lines: 4000, instructions: 5000 } as const;
