# Compiled kernels of the CPU: kept between runs, listed, removed; never needed.
. tests/launcher/support/lib.sh
write_files
good=(model.mlir --device cpu --mesh data=1 --state state.safetensors --batches batches.safetensors)
says() { grep -qF -- "$1" "${2:-stdout}" || fail "no \"$1\" in ${2:-stdout}"; }
entries() { find cache -name '*.kernels' 2> none | wc -l; }

run "${good[@]}" --codegen off --cache-dir cache --out loops.st
expect_success
[[ $(entries) == 0 ]] || fail "--codegen off compiled something"

if ! command -v c++ > none; then
  echo "no C++ compiler"
  exit 77
fi
run "${good[@]}" --cache-dir cache --verbose --out cold.st
expect_success
says 'kernels, compiled or from the cache'
[[ $(entries) == 1 ]] || fail "$(entries) entries after the first run"
run "${good[@]}" --cache-dir cache --out warm.st
expect_success
cmp cold.st warm.st || fail "kernels from the cache give other numbers"
run cache ls --cache-dir cache
expect_success
says 'in cache/kernels'

# A damaged entry is compiled again.
for entry in cache/kernels/*.kernels; do printf 'damaged' > "$entry"; done
run "${good[@]}" --cache-dir cache --out mended.st
expect_success
cmp cold.st mended.st || fail "a damaged entry was used"
run cache clear --cache-dir cache
expect_success
says '1 entries removed from cache/kernels'
[[ $(entries) == 0 ]] || fail "cache clear left entries"

# A saved Plan has its kernels with it.
run "${good[@]}" --cache-dir cache --save-plan step.plan
expect_success
CXX=/bin/false run step.plan --device cpu --state state.safetensors --batches batches.safetensors --out plan.st
expect_success
cmp cold.st plan.st || fail "a saved plan gives other numbers"

# Without a compiler: slower, and said so.
CXX=/bin/false run "${good[@]}" --out slow.st
expect_success
cat stdout stderr > said
says 'no compiled kernels, steps are slower: /bin/false failed' said

run cache prune
expect_error 2 'cache: found "prune", expected ls or clear'
run "${good[@]}" --codegen on
expect_error 2 'found "on", expected auto or off'
run "${good[@]}" --explain fusion
expect_success
says 'of memory traffic a step'
