#!/usr/bin/env node
// First file of the command line, copied unchanged to dist/cudamaster.js. It imports nothing and keeps to old syntax, so that
// a too old Node answers with a sentence and not with a syntax error from deep inside the program, which is loaded after.
var parts = String(process.versions.node).split('.');
var major = Number(parts[0]);
var minor = Number(parts[1]);

function refuse(code, message, remedy, exitCode) {
  if (process.argv.indexOf('--json') >= 0) {
    console.log(JSON.stringify({ ok: false, error: { code: code, message: message, remedy: remedy } }));
  }
  console.error(message + '\n  What to do: ' + remedy);
  process.exitCode = exitCode;
}

if (major < 22 || (major === 22 && minor < 12)) {
  refuse(
    'env.node-version',
    'CUDAMaster needs Node 22.12 or newer; this is Node ' + process.versions.node + '.',
    'Install a current Node from https://nodejs.org, or, in a clone of the repository, use the one that comes with its packages: npx node dist/cudamaster.js',
    3
  );
} else {
  // Beside the copy in dist lies the bundle; beside the original lies the source.
  import(/entry\.js$/.test(import.meta.url) ? './main.ts' : './cli.js').then(
    function (program) {
      return program.main();
    },
    function (error) {
      var message = String((error && error.message) || error);
      // The database is native code: an installation copied from another machine, or made by another Node, lacks a fitting one.
      var native = /NODE_MODULE_VERSION|bindings file|\.node\b|invalid ELF header/.test(message);
      refuse(
        'internal',
        native
          ? 'This installation of CUDAMaster is broken: a part of it was made for another Node or another machine. ' + message.split('\n')[0]
          : 'CUDAMaster could not be loaded: ' + message,
        native
          ? 'Install the package again on this machine with the Node that runs it (in a clone: npm ci, or npm rebuild sqlite3).'
          : 'Install the package again.',
        1
      );
    }
  );
}
