# shellcheck shell=sh
# Read by scripts and tests that need a GPU: false, with a message, where there is none.
if ! nvidia-smi -L > /dev/null 2>&1; then
  echo "[SKIP] this machine has no GPU"
  false
fi
