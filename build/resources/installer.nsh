; Puts the command line on the user's PATH, and takes it off again.
!macro customInstall
  nsExec::ExecToLog 'powershell.exe -NoProfile -ExecutionPolicy Bypass -File "$INSTDIR\resources\cudamaster\bin\path.ps1" add'
  Pop $0
!macroend

!macro customUnInstall
  nsExec::ExecToLog 'powershell.exe -NoProfile -ExecutionPolicy Bypass -File "$INSTDIR\resources\cudamaster\bin\path.ps1" remove'
  Pop $0
!macroend
