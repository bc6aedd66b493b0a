/**
 * Bundles the measuring programs of this folder for a machine with a GPU, where neither npm packages nor the TypeScript sources need
 * to be: dist/self-compare.js, dist/timing-facts.js, dist/candidates.js, dist/paper.js, dist/profile-modes.js. Usage: node build/gpu-tools.ts
 */
import { bundle, root } from './bundle.ts';

for (const name of ['self-compare', 'timing-facts', 'candidates', 'paper', 'profile-modes'])
  await bundle({ entry: `build/measure/${name}.ts`, file: `${name}.js`, external: [] });
console.log(
  `dist/: measuring programs; run them with the repository root as argument, e.g. node dist/self-compare.js ${root}`,
);
