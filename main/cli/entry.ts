/**
 * First file of the command line. It imports nothing and uses only syntax of old Node versions, so that a too old Node
 * answers with a sentence and not with a syntax error from deep inside a dependency. The program itself is loaded after.
 */
var required = [22, 12];
var parts = String(process.versions.node).split('.');
var major = Number(parts[0]);
var minor = Number(parts[1]);

if (major < 22 || (major === 22 && minor < 12)) {
  var found = 'This is Node ' + process.versions.node + '; CUDAMaster needs Node ' + required.join('.') + ' or newer.';
  var cure = 'Install it from https://nodejs.org, or run the copy that npm installed here: npx node dist/cudamaster.js';
  if (process.argv.indexOf('--json') >= 0) {
    console.log(JSON.stringify({ ok: false, error: { code: 'env.node-version', message: found, remedy: cure } }));
  }
  console.error(found + '\n' + cure);
  process.exitCode = 3;
} else {
  import('./main.ts').then(
    (program) => program.main(),
    (error) => {
      console.error('CUDAMaster could not be loaded: ' + (error && error.message ? error.message : error));
      console.error('The installation is incomplete. Install the package again.');
      process.exitCode = 1;
    },
  );
}
