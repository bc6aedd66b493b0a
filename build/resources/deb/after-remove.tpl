
# The command line, if it is ours.
if [ "$(readlink /usr/bin/cudamaster)" = '/opt/${sanitizedProductName}/resources/cudamaster/bin/cudamaster' ]; then
  rm -f '/usr/bin/cudamaster'
fi
