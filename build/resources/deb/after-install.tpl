
# The command line.
ln -sf '/opt/${sanitizedProductName}/resources/cudamaster/bin/cudamaster' '/usr/bin/cudamaster'
