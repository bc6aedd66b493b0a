export { type DiscoverOptions, type Discovery, discover, type ToolSettings } from './discover.ts';
export { doctor } from './doctor.ts';
export { findGpus } from './gpu.ts';
export { type GpuUser, gpuUsers } from './gpu-users.ts';
export { type Machine, thisMachine } from './machine.ts';
export { type ResolveOptions, resolveTools } from './resolve.ts';
