# The front door: make train trains with no further preparation; make help lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
JOBS ?= $(shell nproc)
ARGS ?=
export PATH := $(PATH):/usr/local/cuda/bin

# An NVIDIA GPU that answers and a cuda build: then that is the program; else the host build.
define link_program
if [ -x build/cuda/lathe ] && { [ ! -x build/host/lathe ] || nvidia-smi -L >/dev/null 2>&1; }; \
then build=cuda; else build=host; fi; \
ln -sfn $$build/lathe build/lathe; echo "build/lathe is the $$build build"
endef

# configure_and_build(preset, targets): CMake configures once, Ninja rebuilds what changed.
define configure_and_build
[ -f build/$(1)/build.ninja ] || cmake --preset $(1) >/dev/null; \
cmake --build build/$(1) -j $(JOBS) $(if $(2),--target $(2))
endef

.PHONY: help setup build train test cuda course kernel-report format tidy test-asan test-tsan clean install-completion

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## install what the build needs (Debian packages)
	@scripts/setup.sh

build: setup  ## the program, built for this CPU: build/lathe (default)
	@echo "building build/host/lathe"
	@$(call configure_and_build,host,lathe lathe_traced)
	@$(link_program)

train: build  ## build, then train VGG16 on the built-in pictures; ARGS="--epochs 3" adds options
	LATHE_WINOGRAD=$${LATHE_WINOGRAD:-on} LATHE_EVAL_EVERY=$${LATHE_EVAL_EVERY:-2} build/lathe train $(ARGS)

test: setup  ## build and run every test
	@echo "building build/host"
	@$(call configure_and_build,host)
	@$(link_program)
	@ctest --test-dir build/host --output-on-failure --no-tests=error -j2

cuda: setup  ## the cuda build, with nvcc: build/cuda
	@command -v nvcc >/dev/null || { echo "make cuda: no nvcc on PATH; the CUDA Toolkit 12.6 or newer has it" >&2; exit 1; }
	@echo "building build/cuda"
	@$(call configure_and_build,cuda)
	@$(link_program)

course: build  ## trace the ladders and write the figures of docs/course; ARGS=--check only compares
	@scripts/setup.sh python3
	@build/host/lathe kernels trace --json build/trace.json >/dev/null
	@scripts/course_figures.py build/trace.json $(ARGS)

kernel-report: build cuda  ## check nvcc's code for the ladders, list registers and occupancy: build/kernels.md
	@scripts/setup.sh python3 python3-venv
	@build/host/lathe kernels trace --json build/trace.json >/dev/null
	@scripts/kernel_report.py build/cuda --trace build/trace.json --markdown build/kernels.md

test-asan: setup  ## every test under AddressSanitizer and UndefinedBehaviorSanitizer
	@echo "building build/asan"
	@$(call configure_and_build,asan,hostcuda_tests kernels_tests engine_tests datasets_tests layers_tests apps_tests lathe)
	@for folder in hostcuda kernels engine datasets layers apps; do \
	  echo "$$folder"; build/asan/$${folder}_tests --gtest_brief=1; done

test-tsan: setup  ## the tests with threads (hostcuda, datasets) under ThreadSanitizer
	@echo "building build/tsan"
	@$(call configure_and_build,tsan,hostcuda_tests datasets_tests)
	@TSAN_OPTIONS=halt_on_error=1 build/tsan/hostcuda_tests --gtest_brief=1
	@TSAN_OPTIONS=halt_on_error=1 build/tsan/datasets_tests --gtest_brief=1

format:  ## clang-format over every tracked source
	@git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs -r clang-format -i

tidy: setup  ## clang-tidy over every tracked source of the host build
	@command -v clang-tidy >/dev/null || scripts/setup.sh clang-tidy
	@# clang cannot read the headers that g++ precompiles
	@cmake --preset host -B build/tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
	@git ls-files 'apps/*.cpp' 'layers/*.cpp' 'datasets/*.cpp' 'engine/*.cpp' 'hostcuda/*.cpp' \
	  | grep -Ev '_(cudnn|cublas)\.cpp$$' | xargs -r -P $(JOBS) -n 1 clang-tidy -p build/tidy --quiet

install-completion: build  ## bash completion of lathe for this user
	@mkdir -p $${XDG_DATA_HOME:-$$HOME/.local/share}/bash-completion/completions
	build/lathe completion bash > $${XDG_DATA_HOME:-$$HOME/.local/share}/bash-completion/completions/lathe

clean:  ## remove what was built (runs/ stays)
	rm -rf build
