# Adds this folder to the user's PATH, or takes it out. NSIS itself cuts long values off, and would expand what is written as %NAME%.
param([Parameter(Mandatory)][ValidateSet('add', 'remove')][string]$Do)
$key = [Microsoft.Win32.Registry]::CurrentUser.OpenSubKey('Environment', $true)
$old = [string]$key.GetValue('Path', '', [Microsoft.Win32.RegistryValueOptions]::DoNotExpandEnvironmentNames)
$entries = @($old -split ';' | Where-Object { $_ -ne '' -and $_ -ne $PSScriptRoot })
if ($Do -eq 'add') { $entries += $PSScriptRoot }
$key.SetValue('Path', ($entries -join ';'), [Microsoft.Win32.RegistryValueKind]::ExpandString)
$key.Close()
# Running programs are told of a change by this call alone.
[Environment]::SetEnvironmentVariable('CUDAMASTER_PATH_TOLD', $null, 'User')
