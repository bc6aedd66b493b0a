import { armCompileArgs } from '../jobs/session/shim.ts';

/** A word of a POSIX shell that stands for exactly this text. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Ours that belong to the measuring harness alone: the shared runtime's path, ptxas' report, the files and the architecture. */
const harnessOnly = /^(-cudart=shared|-Xptxas=-v|-arch=|-Xlinker=-rpath=)/;

/** nvcc arguments of a version as it was measured, without files, architecture and the harness's own. */
export function versionArgs(compileArgs: readonly string[]): string[] {
  const own = new Set(compileArgs);
  const { args } = armCompileArgs('gpu', { source: '', versionScript: '', output: '' }, compileArgs);
  const end = args.indexOf('', 0);
  return args
    .slice(0, end)
    .filter((arg) => own.has(arg) || !(harnessOnly.test(arg) || arg.startsWith('-Xlinker=--version-script')));
}

const libraryLine = (name: string, compileArgs: readonly string[]): string => {
  const args = [
    ...versionArgs(compileArgs),
    `-Xlinker=--version-script=${name}.map`,
    `${name}.cu`,
    'harness/errors.cu',
    '-o',
    `${name}.so`,
  ];
  return `echo ${shellWord(`building ${name}.so`)}\n"$NVCC" "$@" -arch="$ARCH" ${args.map(shellWord).join(' ')}`;
};

/**
 * `build.sh`: builds test program and versions with nvcc alone. Each version is a library of its own, as when it was measured: two
 * sources may use the same names. Pure; the same input gives the same text.
 */
export function buildScript(
  versions: readonly { readonly name: string; readonly compileArgs: readonly string[] }[],
): string {
  return `#!/bin/sh
# Builds ./test and the versions it loads. Needs nvcc and the host compiler that nvcc uses, nothing else.
#   sh build.sh [sm_NN]     default: the GPU of this machine
# NVCC=/path/to/nvcc chooses the compiler, CXX=/path/to/g++ its host compiler.
set -eu
cd -- "$(dirname -- "$0")"
ARCH=\${1:-native}
ARCH_OK=yes
case $ARCH in
  native) ;;
  *[!a-z0-9_]*) ARCH_OK=no ;;
  sm_[0-9]*) ;;
  *) ARCH_OK=no ;;
esac
if [ "$ARCH_OK" = no ]; then
  echo "build.sh: $ARCH is no architecture; give it as sm_90" >&2
  exit 2
fi
NVCC=\${NVCC:-nvcc}
if ! command -v "$NVCC" >/dev/null 2>&1; then
  if [ -x /usr/local/cuda/bin/nvcc ]; then NVCC=/usr/local/cuda/bin/nvcc
  else echo "build.sh: $NVCC was not found; put it in PATH or set NVCC=/path/to/nvcc" >&2; exit 2
  fi
fi
set --
if [ -n "\${CXX:-}" ]; then set -- -ccbin "$CXX"; fi
${versions.map((v) => libraryLine(v.name, v.compileArgs)).join('\n')}
echo 'building test'
"$NVCC" "$@" -O3 -std=c++17 -Xcompiler=-ffp-contract=off,-pthread -I. -Iharness test.cpp shim.cpp -o test -ldl -lpthread
echo 'done: ./test'
`;
}
