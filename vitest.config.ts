import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Two cores are the smallest machine this must pass on; compile-heavy files would otherwise starve each other.
    maxWorkers: 2,
  },
});
