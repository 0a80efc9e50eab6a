# The front door. Each command installs what is missing and builds what is out of date.
#
#   make            build the release preset
#   make test       build and run all tests; the last line is `N passed, N failed`
#   make demo       build and run examples/demo.sh
#   make bench      build and run the benchmarks
#   make soak       build, and check random programs until stopped (scripts/soak.sh)
#   make format     clang-format our C++         make tidy    clang-tidy it (FILES="..." for some)
#   make clean      remove build/
#
# PRESET=dev (asan-ubsan, tsan, cpu-only, cuda) builds and tests another preset; TARGET=test_ir
# builds only that; ARGS="-L ir" goes to ctest; JOBS=2 limits parallelism.

PRESET ?= release
BUILD_DIR := $(or $(SPMD_BUILD_DIR),build/$(PRESET))
MAKEFLAGS += --no-print-directory

.PHONY: build test demo bench soak format tidy clean deps
.DEFAULT_GOAL := build

deps:
	@scripts/install_deps.sh

build: deps
	@scripts/build.sh $(PRESET) $(TARGET)

test: deps
	@scripts/build.sh $(PRESET) $(TARGET) || { echo "the build failed"; echo "0 passed, 1 failed"; exit 1; }
	@scripts/run_tests.sh $(PRESET) $(ARGS)

demo: deps
	@scripts/build.sh $(PRESET) spmd-run spmd-opt
	@test -f examples/demo.sh || { echo "examples/demo.sh is missing" >&2; exit 1; }
	@. scripts/env.sh && SPMD_RUN="$(BUILD_DIR)/spmd-run" SPMD_OPT="$(BUILD_DIR)/spmd-opt" \
	  bash examples/demo.sh

bench: deps
	@scripts/build.sh $(PRESET) bench
	@. scripts/env.sh && for program in $(BUILD_DIR)/bench_*; do "$$program" || exit 1; done

soak: deps
	@scripts/build.sh $(PRESET) test_differential
	@scripts/soak.sh $(PRESET)

SOURCES = $(or $(FILES),$(shell git ls-files '*.cc' '*.h'))

format:
	@scripts/install_deps.sh format
	@clang-format -i $(SOURCES)

# Reads the dev preset's compile_commands.json; options that only g++ knows are no findings.
tidy: deps
	@scripts/install_deps.sh tidy
	@scripts/build.sh dev
	@printf '%s\n' $(filter %.cc,$(SOURCES)) | xargs -P "$$(nproc)" -n 1 clang-tidy -p build/dev \
	  --quiet --extra-arg=-Wno-unknown-warning-option

clean:
	@rm -rf build
