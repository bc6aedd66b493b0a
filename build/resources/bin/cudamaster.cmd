@rem The command line of an installed CUDAMaster, with the Node that comes with it.
@"%~dp0..\node.exe" "%~dp0..\dist\cudamaster.js" %*
