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
says 'in 1 entry in cache/kernels'
grep -qE '[0-9] [KM]iB +[0-9]+ (s|minutes?) +model.mlir: [0-9]+ kernels? for the CPU: [0-9]+ [a-z]+' stdout ||
  fail "cache ls does not say what an entry is of"

# A damaged entry is compiled again.
for entry in cache/kernels/*.kernels; do printf 'damaged' > "$entry"; done
run "${good[@]}" --cache-dir cache --out mended.st
expect_success
cmp cold.st mended.st || fail "a damaged entry was used"
run cache clear --cache-dir cache
expect_success
says '1 entry removed from cache/kernels'
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
says 'spmd-run: warning: model.mlir: no compiled kernels, steps are slower: /bin/false failed' stderr
says '--codegen off' stderr

# A compiler that says it went well and writes nothing, or something else.
CXX=/bin/true run "${good[@]}" --out slow.st
expect_success
says '/bin/true ended well, but wrote no shared object' stderr
cat > junk_compiler <<'SH'
#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo junk > "$2"
SH
chmod +x junk_compiler
CXX=./junk_compiler run "${good[@]}" --out slow.st
expect_success
says './junk_compiler ended well, but wrote no shared object' stderr

# A compiler with arguments, and one behind another program.
for command in 'c++ -DUNUSED' 'env UNUSED=1 c++'; do
  CXX=$command run "${good[@]}" --cache-dir words --verbose --out words.st
  expect_success
  says 'kernels, compiled or from the cache'
  cmp cold.st words.st || fail "CXX='$command' gives other numbers"
done
[[ $(find words -name '*.kernels' | wc -l) == 2 ]] || fail "the words of CXX are not in the key"

# A compiler that hangs is named, and the end of the run leaves none of its files.
printf '#!/bin/sh\nexec sleep 1000\n' > slow_compiler
chmod +x slow_compiler
mkdir temporary
CXX=./slow_compiler TMPDIR=$PWD/temporary "$SPMD_RUN" "${good[@]}" > stdout 2> stderr &
process=$!
for ((i = 0; i < 600; i++)); do
  grep -q 'compiling kernels' stderr && break
  sleep 0.2
done
says 'note: ./slow_compiler has been compiling kernels for 10 s and is waited for' stderr
[[ $(ls temporary) == spmd-kernels-* ]] || fail "the compiler's files are not in TMPDIR"
kill "$process"
status=0
wait "$process" || status=$?
[[ $status == 143 ]] || fail "exit code $status after SIGTERM"
[[ -z $(ls temporary) ]] || fail "left behind: $(ls temporary)"

# No place for the compiler's files.
TMPDIR=$PWD/nowhere run "${good[@]}" --out slow.st
expect_success
says "$PWD/nowhere: cannot make a folder for temporary files: No such file" stderr
says 'TMPDIR' stderr

# A cache that cannot be used is named, once.
: > a_file
run4 model.mlir --device cpu --state state.safetensors --batches batches.safetensors \
  --cache-dir a_file --out fresh.st
expect_success
[[ $(grep -c 'warning: a_file/kernels: cannot be made: Not a directory' stderr) == 1 ]] ||
  fail "an unusable cache is not named once"
says '--cache-dir' stderr

run cache ls --cache-dir nowhere
expect_success
says 'no entries: there is no folder nowhere'
run cache prune
expect_error 2 'cache: found "prune", expected ls or clear'
run "${good[@]}" --codegen on
expect_error 2 'found "on", expected auto or off'
run "${good[@]}" --explain fusion
expect_success
says 'of memory traffic a step'

# A budget that is used up: no kernels, and that is said; the numbers are those of the loops.
run "${good[@]}" --compile-budget 1e-9 --cache-dir budget --out budget.st
expect_success
says 'spmd-run: warning: model.mlir: no compiled kernels, steps are slower: the compile budget is used up' stderr
says '  mend that, allow more seconds with --compile-budget, or run without this warning' stderr
cmp loops.st budget.st || fail "a run without its kernels gives other numbers"
# One that suffices for a part of them.
cat > patient_compiler <<'SH'
#!/bin/sh
sleep 1
exec c++ "$@"
SH
chmod +x patient_compiler
program=$SPMD_SOURCE_DIR/tests/data/models/gpt_fsdp
large=("$program/model.mlir" --device cpu --state "$program/state.safetensors"
  --batches "$program/batches.safetensors" --ranks 4 --cache-dir budget)
CXX=./patient_compiler run "${large[@]}" --compile-budget 3 --check "$program/expected.safetensors"
expect_success
grep -qE 'the compile budget suffices for [0-9]+ of [0-9]+ kernels' stderr ||
  fail "no word of the kernels that are left"
says 'allow more seconds: --compile-budget' stderr
grep -q 'not kept' stderr && fail "a folder that nobody tried to make is blamed"
run "${good[@]}" --compile-budget 0
expect_error 2 '--compile-budget: found "0", expected seconds: more than 0'
run "${good[@]}" --cuda-graphs maybe
expect_error 2 'found "maybe", expected auto, on or off'
