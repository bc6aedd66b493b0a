/**
 * What candidates may use, as data. Two kinds of list: names of the CUDA runtime and headers are allowed by name, everything else is
 * refused; names of the host are refused by name, everything else is allowed. The sandbox and the verification stand behind this: the
 * screen says early and in words what they would find late.
 */

/** Headers by exact name or by folder ("cub/*"). Told to the Coder. */
export const allowedIncludes: readonly string[] = [
  'cuda_runtime.h',
  'cuda_runtime_api.h',
  'device_launch_parameters.h',
  'cuda_bf16.h',
  'cuda_fp16.h',
  'cuda_pipeline.h',
  'cuda_pipeline_primitives.h',
  'cuda_awbarrier.h',
  'cuda_awbarrier_primitives.h',
  'vector_types.h',
  'vector_functions.h',
  'math_constants.h',
  'sm_60_atomic_functions.h',
  'mma.h',
  'cooperative_groups.h',
  'cooperative_groups/*',
  'cuda/std/*',
  'cuda/*',
  'cub/*',
  'thrust/*',
  'nv/target',
  'math.h',
  'cmath',
  'stdint.h',
  'cstdint',
  'stddef.h',
  'cstddef',
  'limits.h',
  'climits',
  'float.h',
  'cfloat',
  'limits',
  'assert.h',
  'cassert',
  'stdio.h',
  'cstdio',
  'stdlib.h',
  'cstdlib',
  'string.h',
  'cstring',
  'iostream',
  'algorithm',
  'array',
  'atomic',
  'bit',
  'functional',
  'initializer_list',
  'iterator',
  'map',
  'memory',
  'mutex',
  'new',
  'numeric',
  'optional',
  'stdexcept',
  'string',
  'tuple',
  'type_traits',
  'unordered_map',
  'utility',
  'vector',
];

/** Why a header is refused, where a better reason than "not on the list" helps. */
export const refusedIncludes: readonly (readonly [RegExp, string])[] = [
  [
    /^(cublas|cudnn|cusparse|cufft|cusolver|curand|nccl|cutensor|npp|nvjpeg|cutlass|cute)/,
    'this library is not allowed for this task',
  ],
  [
    /^(thread|future|condition_variable|semaphore|barrier|latch|stop_token|pthread\.h|threads\.h)$/,
    'host threads are not allowed',
  ],
  [/^(cuda\.h|cudaTypedefs\.h|nvrtc\.h)$/, 'the driver API is not allowed; use the runtime API'],
  [/^(cupti|nvml|nvtx|cuda_profiler|nvToolsExt|cudaProfiler)/, 'profiling interfaces are not allowed'],
  [/^(chrono|ctime|time\.h|sys\/time\.h|x86intrin\.h|immintrin\.h)$/, 'reading clocks is not allowed'],
  [
    /^(fstream|filesystem|fcntl\.h|unistd\.h|sys\/|dlfcn\.h|link\.h|signal\.h|csignal|setjmp\.h|csetjmp|dirent\.h|netinet|arpa)/,
    'files, processes, sockets and signals are not allowed',
  ],
  [/^random$/, 'random devices are not allowed: results must depend on the inputs alone'],
];

/** Runtime functions that are allowed. */
export const cudaFunctions: ReadonlySet<string> = new Set(
  `cudaMalloc cudaFree cudaMallocAsync cudaFreeAsync cudaMallocPitch cudaMalloc3D cudaMallocFromPoolAsync
  cudaMemcpy cudaMemcpyAsync cudaMemcpy2D cudaMemcpy2DAsync cudaMemcpy3D cudaMemcpy3DAsync
  cudaMemcpyToSymbol cudaMemcpyToSymbolAsync cudaMemcpyFromSymbol cudaMemcpyFromSymbolAsync
  cudaMemset cudaMemsetAsync cudaMemset2D cudaMemset2DAsync cudaGetSymbolAddress cudaGetSymbolSize
  cudaMemPoolCreate cudaMemPoolDestroy cudaMemPoolSetAttribute cudaMemPoolGetAttribute cudaMemPoolTrimTo
  cudaDeviceGetDefaultMemPool cudaDeviceGetMemPool
  cudaFuncSetAttribute cudaFuncGetAttributes cudaFuncSetCacheConfig cudaFuncSetSharedMemConfig
  cudaOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
  cudaOccupancyMaxPotentialBlockSize cudaOccupancyMaxPotentialBlockSizeVariableSMem cudaOccupancyMaxActiveClusters
  cudaOccupancyMaxPotentialClusterSize cudaOccupancyAvailableDynamicSMemPerBlock
  cudaDeviceGetAttribute cudaGetDevice cudaGetDeviceProperties cudaGetDeviceCount
  cudaGetLastError cudaPeekAtLastError cudaGetErrorString cudaGetErrorName cudaDeviceSynchronize
  cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority cudaStreamDestroy cudaStreamSynchronize
  cudaStreamWaitEvent cudaStreamQuery cudaStreamBeginCapture cudaStreamEndCapture cudaStreamIsCapturing cudaStreamSetAttribute
  cudaStreamGetAttribute cudaDeviceGetStreamPriorityRange
  cudaEventCreate cudaEventCreateWithFlags cudaEventDestroy cudaEventRecord cudaEventSynchronize cudaEventQuery
  cudaGraphCreate cudaGraphDestroy cudaGraphInstantiate cudaGraphInstantiateWithFlags cudaGraphLaunch cudaGraphExecDestroy
  cudaGraphExecUpdate cudaGraphExecKernelNodeSetParams cudaGraphAddKernelNode cudaGraphAddMemcpyNode cudaGraphAddMemsetNode
  cudaGraphAddDependencies cudaGraphGetNodes cudaGraphKernelNodeGetParams cudaGraphKernelNodeSetParams cudaGraphUpload
  cudaLaunchKernel cudaLaunchKernelEx cudaLaunchKernelExC cudaLaunchCooperativeKernel
  cudaGridDependencySynchronize cudaTriggerProgrammaticLaunchCompletion
  cudaCreateTextureObject cudaDestroyTextureObject cudaCreateChannelDesc cudaCtxResetPersistingL2Cache`
    .split(/\s+/)
    .filter((name) => name !== ''),
);

/** Types, structures and constants of the runtime, by pattern. */
export const cudaConstants: readonly RegExp[] = [
  /_t$/,
  /^cudaSuccess$/,
  /^cudaError/,
  /^cudaMemcpy(HostToHost|HostToDevice|DeviceToHost|DeviceToDevice|Default|Kind)$/,
  /^cudaMemcpy3DParms$/,
  /^cudaDevAttr/,
  /^cudaDeviceProp$/,
  /^cudaFuncAttribute/,
  /^cudaFuncCache/,
  /^cudaFuncCachePrefer/,
  /^cudaSharedMemBankSize/,
  /^cudaSharedmemCarveout/,
  /^cudaStream(NonBlocking|Default|Legacy|PerThread|CaptureMode|CaptureStatus|AttrValue|AttrID|Attribute)/,
  /^cudaEvent(DisableTiming|Default|BlockingSync)$/,
  /^cudaLaunch(Attribute|Config)/,
  /^cudaAccessPro/,
  /^cudaAccessPolicy/,
  /^cudaKernelNode/,
  /^cudaMemsetParams$/,
  /^cudaGraph(Node|ExecUpdate|InstantiateFlag)/,
  /^cudaMemPool(Attr|Reuse|Props)/,
  /^cudaMemAllocation/,
  /^cudaMemLocation/,
  /^cudaMemHandle/,
  /^cudaOccupancy(Default|DisableCachingOverride)$/,
  /^cudaCluster/,
  /^cudaResource/,
  /^cudaTexture/,
  /^cudaAddressMode/,
  /^cudaFilterMode/,
  /^cudaReadMode/,
  /^cudaChannelFormat/,
  /^cudaExtent$/,
  /^cudaPos$/,
  /^cudaPitchedPtr$/,
];

/** Why a CUDA name is refused, where more can be said than "not on the list". */
export const refusedCuda: readonly (readonly [RegExp, string])[] = [
  [/^cudaProfiler/, 'profiler control is not allowed'],
  [
    /^(cudaHostAlloc|cudaMallocHost|cudaFreeHost|cudaHostRegister|cudaHostGet|cudaHostUnregister|cudaMallocManaged|cudaMemAdvise|cudaMemPrefetch)/,
    'mapped, pinned and managed memory are not allowed',
  ],
  [
    /^(cudaLaunchHostFunc|cudaStreamAddCallback|cudaGraphAddHostNode|cudaUserObject|cudaStreamUpdateCaptureDependencies)/,
    'host callbacks are not allowed',
  ],
  [
    /^(cudaDeviceReset|cudaSetDevice|cudaDeviceSet|cudaInitDevice|cudaThread|cudaSetValidDevices|cudaDeviceEnablePeer|cudaDeviceFlush)/,
    'state of the whole device or process may not be changed: it outlives the call',
  ],
  [
    /^(cudaGetDriverEntryPoint|cudaGetFuncBySymbol|cudaGetKernel|cudaLibrary|cudaKernel[A-Z])/,
    'loading code or driver functions at run time is not allowed',
  ],
  [/^cudaEventElapsedTime/, 'reading clocks is not allowed'],
  [/^cudaMemGetInfo/, 'looking at the environment is not allowed'],
  [
    /^cudaIpc|^cudaImport|^cudaExternal|^cudaGraphics|^cudaMemPool(Export|Import)/,
    'sharing memory with other processes or programs is not allowed',
  ],
];

/** Families of other interfaces, refused whole. */
export const refusedFamilies: readonly (readonly [RegExp, string])[] = [
  [
    /^cu(?!da)(Init|Device|Ctx|Mod|Mem|Launch|Stream|Event|Graph|Func|Tensor|Link|Library|Kernel|Occupancy|Array|Tex|Get|Profiler|Primary|Param)[A-Z]?\w*$/,
    'the driver API is not allowed',
  ],
  [/^(CUpti|cupti)[A-Z_]/, 'profiling interfaces are not allowed'],
  [/^(nvml|nvtx|nvToolsExt|nvrtc|nvJitLink|nvPTXCompiler)[A-Z]/, 'this interface is not allowed'],
  [/^(cublas|cudnn|cusparse|cufft|cusolver|curand|nccl|cutensor)\w*$/i, 'this library is not allowed for this task'],
  [/^pthread_/, 'host threads are not allowed'],
  [/^(__libc_|_dl_|__dl_|_IO_|__cuda(?!_)|__NV_|_nv_|__nv_cuda)/, 'internal names are not allowed'],
  [/^(__nvvm_read_ptx_sreg_|get_sreg_)(clock|globaltimer)|^__clock(64)?$/, 'reading clocks is not allowed'],
  [/^(exec[lv]p?e?|execve|execveat|fexecve)$/, 'starting programs is not allowed'],
  [/^posix_spawn/, 'starting programs is not allowed'],
  [/^(pidfd_|process_vm_|shm_|sem_|mq_|inotify_|epoll_|timer_|sched_)/, 'system interfaces are not allowed'],
];

/** Names that only the host's system interfaces have: refused wherever they stand. */
export const refusedNames: Readonly<Record<string, string>> = {
  ...each('starting programs is not allowed', 'popen fork vfork clone wordexp daemon'),
  ...each('loading libraries is not allowed', 'dlopen dlmopen dlsym dlvsym dladdr dlinfo dl_iterate_phdr'),
  ...each(
    'files and sockets are not allowed',
    'fopen fopen64 freopen fdopen openat creat fread fwrite fscanf fgets getline pread pwrite readv writev sendfile socket socketpair tmpfile mkstemp mkdtemp opendir readdir readlink symlink unlink rmdir mkdir chdir chmod chown ioctl fcntl ftruncate ifstream ofstream fstream filebuf wifstream wofstream wfstream wfilebuf basic_ifstream basic_ofstream basic_fstream basic_filebuf',
  ),
  ...each(
    'memory of the process may not be mapped or reached',
    'mmap mmap64 munmap mprotect mremap madvise brk sbrk ptrace syscall memfd_create userfaultfd',
  ),
  ...each(
    'signals and jumps are not allowed',
    'sigaction sigprocmask setjmp _setjmp sigsetjmp longjmp siglongjmp raise tgkill setitimer',
  ),
  ...each(
    'ending the process is not allowed: return instead',
    'quick_exit at_quick_exit atexit _exit _Exit on_exit __cxa_atexit',
  ),
  ...each(
    'looking at the environment is not allowed',
    'getenv secure_getenv setenv putenv unsetenv environ __environ getpid getppid gettid gethostname uname sysconf getrusage program_invocation_name __progname',
  ),
  ...each(
    'reading clocks is not allowed',
    'clock64 clock_gettime gettimeofday timespec_get nanosleep usleep __rdtsc __rdtscp _rdtsc globaltimer __builtin_readcyclecounter',
  ),
  ...each('host threads are not allowed', 'jthread packaged_task thrd_create condition_variable this_thread'),
  ...each(
    'random devices are not allowed: results must depend on the inputs alone',
    'random_device getrandom getentropy',
  ),
  ...each('managed memory is not allowed', '__managed__'),
};

/** Ordinary words that are also functions of the C library: refused as calls and addresses, allowed as names of one's own. */
export const softNames: Readonly<Record<string, string>> = {
  ...each('starting programs is not allowed', 'system'),
  ...each(
    'files and sockets are not allowed',
    'open open64 read write close remove rename send recv sendto recvfrom connect accept bind listen dup dup2 pipe access link stat fstat lstat truncate',
  ),
  ...each('signals are not allowed', 'signal kill pause alarm waitpid'),
  ...each('ending the process is not allowed: return instead', 'exit abort terminate'),
  ...each('reading clocks is not allowed', 'clock time sleep'),
  ...each('host threads are not allowed', 'async'),
};

/** Members of std that are refused where they stand behind `std::`. */
export const refusedStd: Readonly<Record<string, string>> = {
  ...each(
    'host threads are not allowed',
    'thread jthread async future promise packaged_task condition_variable this_thread barrier latch counting_semaphore',
  ),
  ...each('reading clocks is not allowed', 'chrono time clock'),
  ...each('files are not allowed', 'filesystem ifstream ofstream fstream fopen freopen remove rename tmpfile'),
  ...each('starting programs is not allowed', 'system'),
  ...each('ending the process is not allowed: return instead', 'exit abort terminate quick_exit atexit _Exit'),
  ...each('looking at the environment is not allowed', 'getenv'),
  ...each('signals are not allowed', 'signal raise'),
};

/** GNU and C++ attributes that are allowed. */
export const allowedAttributes: ReadonlySet<string> = new Set(
  `aligned packed always_inline noinline unused used may_alias maybe_unused nodiscard noreturn fallthrough likely unlikely
  no_unique_address deprecated assume const pure flatten hot cold gnu nv_diag_suppress optnone nonnull malloc`
    .split(/\s+/)
    .filter((name) => name !== ''),
);

export const allowedBuiltins =
  /^__builtin_(expect|assume|assume_aligned|unreachable|trap|prefetch|clz|clzl|clzll|ctz|ctzl|ctzll|popcount|popcountl|popcountll|ffs|ffsl|ffsll|bswap\d+|fabsf?|sqrtf?|fmaf?|fminf?|fmaxf?|huge_valf?|inff?|nanf?|isnan|isinf|memcpy|memset|bit_cast|is_constant_evaluated|offsetof|nontemporal_\w+)$/;

/** First words of pragmas that are allowed. */
export const allowedPragmas =
  /^(unroll|nounroll|once|nv_diag_\w+|diag_\w+|nv_exec_check_disable|hd_warning_disable|nv_abi|GCC unroll|GCC diagnostic|GCC ivdep|message)\b/;

/** Text that inline PTX must not hold. */
export const refusedPtx: readonly (readonly [RegExp, string])[] = [
  [/\.incbin|\.include\b/, 'assembly must not read files'],
  [/%(clock|clock64|clock_hi|globaltimer)/, 'reading clocks is not allowed'],
  [/\.(section|pushsection|init_array|ctors|text|data)\b/, 'assembly must not change sections'],
];

function each(why: string, names: string): Record<string, string> {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, why]));
}
